#include "supervisor/queues/idle_watch.hpp"

#include <utility>

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto time_to_follow = 250ms;  // for a worker that was freed
constexpr auto time_to_wait = 50ms;     // for a worker to note its queue after an empty fetch

}  // namespace

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

std::vector<IdleSign> IdleWatch::read(const std::vector<OccupiedSlot>& slots) {
  const SteadyTime now = steady_now();
  std::vector<IdleSign> found;
  for (const OccupiedSlot& slot : slots) {
    IdleSign sign = idle_sign(*slot.record);
    seen_[slot.slot] = sign;
    // A worker that was just freed does not count as idle: the queue on which it waited may need a doorbell at once.
    if (const auto known = freed_.find(slot.slot); known != freed_.end()) {
      if (known->second.sign == sign && now < known->second.until)
        sign = {};
      else
        freed_.erase(known);
    }
    if (!sign.idle || sign.waiting_client != 0)
      not_waiting_since_.erase(slot.slot);
    else if (now - not_waiting_since_.try_emplace(slot.slot, now).first->second < time_to_wait)
      sign = {};
    found.push_back(sign);
  }
  return found;
}

bool IdleWatch::changed() { return read(workers_.fetching_slots()) != signs_; }

std::vector<IdleWorker> IdleWatch::look() {
  const std::vector<OccupiedSlot> slots = workers_.fetching_slots();
  signs_ = read(slots);
  std::vector<IdleWorker> idle;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (signs_[i].idle) idle.push_back(idle_worker(slots[i]));
  }
  return idle;
}

void IdleWatch::freed(int slot) { freed_[slot] = {seen_[slot], steady_now() + time_to_follow}; }

void IdleWatch::forget() { signs_.clear(); }

}  // namespace brood
