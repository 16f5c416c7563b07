#include "supervisor/queues/doorbell_plan.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_set>

namespace brood {
namespace {

constexpr std::size_t not_there = static_cast<std::size_t>(-1);

std::size_t rank(std::string_view queue, const std::vector<std::string>& queues) {
  const auto found = std::find(queues.begin(), queues.end(), queue);
  return found == queues.end() ? not_there : static_cast<std::size_t>(found - queues.begin());
}

}  // namespace

DoorbellPlan plan_doorbells(const CapsuleQueues& capsules, const std::vector<IdleWorker>& idle,
                            const std::set<std::string>& left_out, std::size_t most,
                            const std::set<std::string>& capped) {
  std::unordered_set<std::string_view> settled;  // waited on, or planned for
  std::set<std::size_t> with_idle;
  for (const IdleWorker& worker : idle) {
    if (!worker.waits_on.empty()) settled.insert(worker.waits_on);
    if (static_cast<std::size_t>(worker.capsule) < capsules.size())
      with_idle.insert(static_cast<std::size_t>(worker.capsule));
  }
  std::size_t longest = 0;
  for (const std::size_t capsule : with_idle) longest = std::max(longest, capsules[capsule].size());

  DoorbellPlan plan;
  for (std::size_t i = 0; i < longest; ++i) {
    for (const std::size_t capsule : with_idle) {
      if (i >= capsules[capsule].size()) continue;
      const std::string& queue = capsules[capsule][i];
      if (left_out.contains(queue) || !settled.insert(queue).second) continue;
      const bool may_peek = plan.doorbells.size() < most && !capped.contains(queue);
      (may_peek ? plan.doorbells : plan.looked_at).push_back(queue);
    }
  }
  return plan;
}

std::optional<int> worker_to_free(std::string_view queue, const CapsuleQueues& capsules,
                                  const std::vector<IdleWorker>& idle) {
  const auto waiters = [&](std::string_view name) {
    return std::count_if(idle.begin(), idle.end(), [&](const IdleWorker& one) { return one.waits_on == name; });
  };
  if (waiters(queue) > 0) return std::nullopt;

  const IdleWorker* best = nullptr;
  std::tuple<bool, bool, std::size_t> best_merit;
  for (const IdleWorker& worker : idle) {
    if (static_cast<std::size_t>(worker.capsule) >= capsules.size()) continue;
    const std::vector<std::string>& queues = capsules[static_cast<std::size_t>(worker.capsule)];
    if (rank(queue, queues) == not_there) continue;
    const bool waits = !worker.waits_on.empty();
    const std::tuple merit{!waits, waits && waiters(worker.waits_on) > 1, rank(worker.waits_on, queues)};
    if (best && merit <= best_merit) continue;
    best = &worker;
    best_merit = merit;
  }
  return best ? std::optional(best->slot) : std::nullopt;
}

IdleSign idle_sign(const SlotRecord& record) {
  const std::uint64_t incarnation = record.own_incarnation.load();
  const bool idle = record.ready.load() == 1 && record.retired.load() != 1 && record.current.load() < 0 &&
                    record.entries[0].load() == 0 && incarnation != 0 && incarnation == record.incarnation.load() &&
                    (record.flags.load() & (slot_quiet | slot_stop)) == 0;
  if (!idle) return {};
  return {true, record.waiting_client.load(), record.text_sequence.load()};
}

IdleWorker idle_worker(const OccupiedSlot& slot) {
  SlotSnapshot seen = snapshot(*slot.record);
  if (seen.waiting_client == 0) return {.slot = slot.slot, .capsule = slot.capsule};
  return {slot.slot, slot.capsule, std::move(seen.queue), seen.waiting_client};
}

}  // namespace brood
