#include "supervisor/workers/places/serial_turns.hpp"

#include <algorithm>
#include <tuple>

namespace brood {
namespace {

bool comes_before(const TurnTaker& other, const TurnTaker& worker, SteadyTime now) {
  if (other.slot == worker.slot || other.capsule != worker.capsule) return false;
  const bool leaves = other.ended || other.finishing;
  // This also orders the waiting workers: two that wait for the same one must not go at once.
  if (!leaves) return std::tie(other.since, other.slot) < std::tie(worker.since, worker.slot);
  if (other.never_fetched) return false;
  return !other.ended || (other.shard == worker.shard && now - *other.ended < longest_wait_for_recovery);
}

}  // namespace

std::set<int> who_waits(const std::vector<TurnTaker>& workers, bool strangers, SteadyTime now) {
  std::set<int> waiting;
  for (const TurnTaker& worker : workers) {
    if (!worker.alone || worker.ended) continue;
    const bool waits = strangers || std::any_of(workers.begin(), workers.end(), [&](const TurnTaker& other) {
                         return comes_before(other, worker, now);
                       });
    if (waits) waiting.insert(worker.slot);
  }
  return waiting;
}

}  // namespace brood
