#include "supervisor/queues/queue_rivals.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/store/queues/known_queues.hpp"

namespace brood {
namespace {

constexpr const char* advice = "each takes jobs that are the other's; give brood queues of its own";

}  // namespace

std::vector<QueueRivalry> queue_rivalries(const std::vector<CapsuleSettings>& ours,
                                          const std::vector<RubyProcess>& theirs) {
  const auto is_ours = [&](const std::string& queue) {
    return std::any_of(ours.begin(), ours.end(), [&](const CapsuleSettings& capsule) {
      return capsule.concurrency > 0 && fetches_from(capsule.queues.names(), queue);
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

void QueueRivals::warn_of(const std::vector<RubyProcess>& processes) {
  const std::set<std::pair<std::string, std::string>> before = std::exchange(said_, {});
  for (const QueueRivalry& rivalry : queue_rivalries(ours_, processes)) {
    const auto [said, is_first] = said_.emplace(rivalry.queue, rivalry.process);
    if (is_first && !before.contains(*said))
      log::warn("queue_shared_with_sidekiq",
                {{"queue", rivalry.queue}, {"process", rivalry.process}, {"hint", advice}});
  }
}

void QueueRivals::look(const std::vector<CapsuleSettings>& ours) {
  ours_ = ours;
  ask();
}

void QueueRivals::stop() { again_.stop(); }

void QueueRivals::ask() {
  again_.start_in(between_looks_);
  look_.look([this](const std::optional<std::vector<RubyProcess>>& living) {
    if (living) warn_of(*living);
  });
}

}  // namespace brood
