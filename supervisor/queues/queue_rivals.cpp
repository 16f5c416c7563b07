#include "supervisor/queues/queue_rivals.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/store/name_list.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_list.hpp"

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

void QueueRivals::ask_of(const std::vector<std::string>& identities) {
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back(ask_info(identity));
  redis_.send_all(commands, longest_answer_time, [this, identities](const std::vector<AsyncConnection::Result>& infos) {
    std::vector<RubyProcess> processes;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (!infos[i].ok()) continue;
      if (auto process = read_ruby_process(identities[i], infos[i].reply.view()))
        processes.push_back(std::move(*process));
    }
    warn_of(processes);
  });
}

void QueueRivals::warn_of(const std::vector<RubyProcess>& processes) {
  for (const QueueRivalry& rivalry : queue_rivalries(ours_, processes)) {
    if (said_.emplace(rivalry.queue, rivalry.process).second)
      log::warn("queue_shared_with_sidekiq",
                {{"queue", rivalry.queue}, {"process", rivalry.process}, {"hint", advice}});
  }
}

void QueueRivals::look(const std::vector<CapsuleSettings>& ours) {
  ours_ = ours;
  redis_.send(ask_processes(), longest_answer_time, [this](const AsyncConnection::Result& listed) {
    if (!listed.ok()) return;
    const auto identities = read_name_list_if_told(listed.reply.view());
    if (identities && !identities->empty()) ask_of(*identities);
  });
}

}  // namespace brood
