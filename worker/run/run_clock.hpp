#pragma once

#include <chrono>
#include <optional>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "worker/job/item_clock.hpp"

namespace brood {

// How long the run under way may still take.  Its deadline stands in the slot, where the supervisor reads it.
class RunClock {
 public:
  explicit RunClock(WorkerSlot& slot) : slot_(slot) {}

  // From within a sandbox the deadline cannot be moved.
  void fix_deadline() { moves_deadline_ = false; }
  bool moves_deadline() const { return moves_deadline_; }

  void begin(SteadyTime now, std::optional<std::chrono::milliseconds> timeout) {
    items_.begin(now, timeout ? timeout : time_left());
  }
  std::optional<std::chrono::milliseconds> time_left() const;  // nullopt: no deadline
  bool out_of_time() const { return time_left().value_or(std::chrono::milliseconds(1)).count() <= 0; }
  void set_time_left(std::chrono::milliseconds left);

  // Between two items of an iterable job, each of which has all of the timeout.  Returns whether the run ends here.
  bool ends_between_items();
  // Whether the run, or one of its items, took longer than it may.
  bool was_too_long() const;

 private:
  WorkerSlot& slot_;
  ItemClock items_;
  bool moves_deadline_ = true;
};

}  // namespace brood
