#include "supervisor/process_table.hpp"

#include <algorithm>
#include <stdexcept>

namespace brood {

ProcessTable::ProcessTable(const std::vector<int>& capsule_sizes) {
  for (std::size_t capsule = 0; capsule < capsule_sizes.size(); ++capsule) {
    for (int i = 0; i < capsule_sizes[capsule]; ++i) {
      Slot slot;
      slot.capsule = static_cast<int>(capsule);
      slots_.push_back(slot);
    }
  }
}

void ProcessTable::occupy(int slot, pid_t pid, SteadyTime now) {
  Slot& place = (*this)[slot];
  if (place.pid != 0) throw std::logic_error("slot " + std::to_string(slot) + " is occupied");
  place.pid = pid;
  place.occupied_since = now;
  place.ended_by = EndedBy::itself;
  place.fate.reset();
  place.kill_at.reset();
  place.flags = 0;
  place.ready = false;
}

std::optional<int> ProcessTable::vacate(pid_t pid) {
  const auto slot = slot_of(pid);
  if (slot) (*this)[*slot].pid = 0;
  return slot;
}

std::uint64_t ProcessTable::assign_incarnation(int slot) { return (*this)[slot].incarnation = ++last_incarnation_; }

std::optional<int> ProcessTable::slot_of(pid_t pid) const {
  if (pid <= 0) return std::nullopt;
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.pid == pid; });
  if (found == slots_.end()) return std::nullopt;
  return static_cast<int>(found - slots_.begin());
}

std::vector<int> ProcessTable::due_for_refill(SteadyTime now) const {
  std::vector<int> due;
  for (int i = 0; i < size(); ++i) {
    if ((*this)[i].pid == 0 && (*this)[i].rests_until <= now) due.push_back(i);
  }
  return due;
}

std::optional<SteadyTime> ProcessTable::next_refill() const {
  std::optional<SteadyTime> next;
  for (const Slot& slot : slots_) {
    if (slot.pid == 0 && (!next || slot.rests_until < *next)) next = slot.rests_until;
  }
  return next;
}

int ProcessTable::occupied() const {
  return static_cast<int>(std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.pid != 0; }));
}

int ProcessTable::ready() const {
  return static_cast<int>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.pid != 0 && slot.ready; }));
}

}  // namespace brood
