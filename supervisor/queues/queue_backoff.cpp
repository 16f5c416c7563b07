#include "supervisor/queues/queue_backoff.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace brood {
namespace {

constexpr std::chrono::milliseconds shortest_pause{1};
constexpr std::chrono::milliseconds longest_pause{100};

}  // namespace

void QueueBackoff::rang(const std::string& queue, std::string_view job, SteadyTime now) {
  Backoff& backoff = backoffs_[queue];
  const std::size_t hash = std::hash<std::string_view>()(job);
  backoff.pause = std::exchange(backoff.job, hash) == hash ? 2 * backoff.pause : shortest_pause;
  backoff.pause = std::clamp(backoff.pause, shortest_pause, longest_pause);
  backoff.until = now + backoff.pause;
}

SteadyTime QueueBackoff::until(const std::string& queue) const {
  const auto backoff = backoffs_.find(queue);
  return backoff == backoffs_.end() ? SteadyTime{} : backoff->second.until;
}

}  // namespace brood
