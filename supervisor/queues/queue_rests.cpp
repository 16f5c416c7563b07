#include "supervisor/queues/queue_rests.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace brood {
namespace {

constexpr std::chrono::milliseconds shortest_pause{1};
constexpr std::chrono::milliseconds longest_pause{100};

}  // namespace

void QueueRests::rang(const std::string& queue, std::string_view job, SteadyTime now) {
  Rest& rest = rests_[queue];
  const std::size_t hash = std::hash<std::string_view>()(job);
  rest.pause = std::exchange(rest.job, hash) == hash ? 2 * rest.pause : shortest_pause;
  rest.pause = std::clamp(rest.pause, shortest_pause, longest_pause);
  rest.until = now + rest.pause;
}

SteadyTime QueueRests::until(const std::string& queue) const {
  const auto rest = rests_.find(queue);
  return rest == rests_.end() ? SteadyTime{} : rest->second.until;
}

}  // namespace brood
