#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/clock.hpp"
#include "supervisor/worker_end.hpp"

namespace brood {

// Where each child runs: one numbered slot per worker, filled while a process occupies it.  Pure bookkeeping, no system
// calls: tests drive it with invented pids.
class ProcessTable {
 public:
  struct Slot {
    int capsule = 0;                // index into the configuration's capsules
    pid_t pid = 0;                  // 0: vacant
    std::uint64_t incarnation = 0;  // the last one assigned; never reused
    SteadyTime occupied_since{};
    SteadyTime rests_until{};            // when vacant: not to be refilled before
    std::chrono::milliseconds rest{0};   // how long its last rest was
    EndedBy ended_by = EndedBy::itself;  // whom the supervisor will hold to have ended this occupant
    std::optional<Casualty::Fate> fate;  // of the running job, when that is `by_hand`
    std::optional<SteadyTime> kill_at;   // it has been aborted; when SIGKILL follows
    std::uint32_t flags = 0;             // SlotFlag bits for this occupant alone
    bool ready = false;                  // it has said so
    std::uint64_t processed_before = 0;  // the slot's counter when it was forked
  };

  // `capsule_sizes[i]` workers for capsule i; slots are numbered from 0 in that order.
  explicit ProcessTable(const std::vector<int>& capsule_sizes);

  // Notes that `pid` now runs in `slot`, which must be vacant.
  void occupy(int slot, pid_t pid, SteadyTime now);

  // Empties the slot `pid` ran in and says which it was; nullopt for a process that was never ours.  What the slot
  // knows of its last occupant stays readable until it is occupied again.
  std::optional<int> vacate(pid_t pid);

  // A number never assigned before, now `slot`'s.
  std::uint64_t assign_incarnation(int slot);

  std::optional<int> slot_of(pid_t pid) const;
  // Vacant slots that have rested enough.
  std::vector<int> due_for_refill(SteadyTime now) const;
  // When the next resting slot may be refilled; nullopt when none rests.
  std::optional<SteadyTime> next_refill() const;

  int size() const { return static_cast<int>(slots_.size()); }
  int occupied() const;
  int ready() const;
  Slot& operator[](int slot) { return slots_.at(static_cast<std::size_t>(slot)); }
  const Slot& operator[](int slot) const { return slots_.at(static_cast<std::size_t>(slot)); }

 private:
  std::vector<Slot> slots_;
  std::uint64_t last_incarnation_ = 0;
};

}  // namespace brood
