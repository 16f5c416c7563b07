#include "supervisor/queues/queue_rivals.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr const char* advice = "each takes jobs that are the other's; give brood queues of its own";

}  // namespace

std::vector<QueueRivalry> queue_rivalries(const std::vector<CapsuleSettings>& ours,
                                          const std::vector<RubyProcess>& theirs) {
  const auto is_ours = [&](const std::string& queue) {
    return std::any_of(ours.begin(), ours.end(), [&](const CapsuleSettings& capsule) {
      const std::vector<std::string> names = capsule.queues.names();
      return capsule.concurrency > 0 &&
             (capsule.follows_all_queues || std::find(names.begin(), names.end(), queue) != names.end());
    });
  };
  std::vector<QueueRivalry> rivalries;
  for (const RubyProcess& process : theirs) {
    const std::set<std::string> queues(process.queues.begin(), process.queues.end());
    for (const std::string& queue : queues) {
      if (is_ours(queue)) rivalries.push_back({queue, process.identity});
    }
  }
  return rivalries;
}

std::string describe(const QueueRivalry& rivalry) {
  return "Sidekiq's process " + rivalry.process + " fetches from the queue " + rivalry.queue + " too: " + advice;
}

// Answers that come after the end find nobody.
struct QueueRivals::State : std::enable_shared_from_this<QueueRivals::State> {
  explicit State(AsyncConnection& connection) : redis(connection) {}

  void ask_of(const std::vector<std::string>& identities);
  void warn_of(const std::vector<RubyProcess>& processes);

  AsyncConnection& redis;
  std::vector<CapsuleSettings> ours;
  std::set<std::pair<std::string, std::string>> said;
};

void QueueRivals::State::ask_of(const std::vector<std::string>& identities) {
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back({"HGET", identity, "info"});
  redis.send_all(commands, longest_answer_time,
                 [weak = weak_from_this(), identities](const std::vector<AsyncConnection::Result>& infos) {
                   const auto self = weak.lock();
                   if (!self) return;
                   std::vector<RubyProcess> processes;
                   for (std::size_t i = 0; i < infos.size(); ++i) {
                     if (!infos[i].ok()) continue;
                     if (auto process = read_ruby_process(identities[i], infos[i].reply.view()))
                       processes.push_back(std::move(*process));
                   }
                   self->warn_of(processes);
                 });
}

void QueueRivals::State::warn_of(const std::vector<RubyProcess>& processes) {
  for (const QueueRivalry& rivalry : queue_rivalries(ours, processes)) {
    if (said.emplace(rivalry.queue, rivalry.process).second)
      log::warn("queue_shared_with_sidekiq",
                {{"queue", rivalry.queue}, {"process", rivalry.process}, {"hint", advice}});
  }
}

QueueRivals::QueueRivals(AsyncConnection& redis) : state_(std::make_shared<State>(redis)) {}

void QueueRivals::look(const std::vector<CapsuleSettings>& ours) {
  state_->ours = ours;
  state_->redis.send({"SMEMBERS", keys::processes}, longest_answer_time,
                     [weak = std::weak_ptr(state_)](const AsyncConnection::Result& listed) {
                       const auto state = weak.lock();
                       if (!state || !listed.ok() || !listed.reply.view().is_array()) return;
                       std::vector<std::string> identities;
                       for (std::size_t i = 0; i < listed.reply.view().size(); ++i)
                         identities.emplace_back(listed.reply.view()[i].text());
                       if (!identities.empty()) state->ask_of(identities);
                     });
}

}  // namespace brood
