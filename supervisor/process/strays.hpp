#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Descendants of a dead worker that had left its process group.  Workers adopt what their jobs leave behind, and when a
// worker dies, all of that becomes children of the supervisor.  So a child that the supervisor did not fork, and that
// was not there before the supervisor, is a stray and is killed.  The children of a stray become the supervisor's in
// turn, until nobody is left.
class Strays {
 public:
  // `is_ours` says which children the supervisor forked.  Children that the process already has, from whatever program
  // it was before, are left alone.
  Strays(EventLoop& loop, std::function<bool(pid_t)> is_ours);

  // A worker has been reaped: look in this turn.
  void look_soon();

  // Each turn, when its time has come.  Kills and reaps what it finds, a bounded number, so that a fork bomb does not
  // keep the loop; goes on in a later turn until none is left, and then logs how many it found alive, without those
  // that were to die with their parent.
  void look(SteadyTime now);

  // It was a child of this process before it became a supervisor.
  bool is_foreign(pid_t child) const { return foreign_.contains(child); }

  // nullopt while there is nothing to look for.
  std::optional<SteadyTime> next_look() const { return next_look_; }

 private:
  std::function<bool(pid_t)> is_ours_;
  std::set<pid_t> foreign_;
  std::optional<SteadyTime> next_look_;
  std::chrono::milliseconds rest_{0};  // until the next look, if somebody is not dead by then
  Timer wake_;                         // for the next look
  std::set<pid_t> killed_;             // and not reaped yet
  std::size_t count_ = 0;              // since the last report
  SteadyTime reported_at_{};
};

}  // namespace brood
