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

// Kills descendants of a dead worker that had left its process group.
//
// Workers adopt what their jobs leave behind, and when a worker dies, all of that becomes children of the supervisor.
// So a child that the supervisor neither forked nor had from the start is a stray and is killed.  The children of a
// stray then become the supervisor's, and so on until none is left.
class Strays {
 public:
  // `is_ours` returns whether the supervisor forked a child.  Children that the process already has, from an earlier
  // program, are left alone.
  Strays(EventLoop& loop, std::function<bool(pid_t)> is_ours);

  // Call it when a worker has been reaped: looks in this turn.
  void look_soon();

  // Each turn, when it is due.  Kills and reaps strays, a bounded number so that a fork bomb does not hold up the loop,
  // and goes on in later turns until none is left.  Then logs how many it found alive, not counting those that die with
  // their parent.
  void look(SteadyTime now);

  // Whether it was a child of this process before the supervisor began.
  bool is_foreign(pid_t child) const { return foreign_.contains(child); }

  // nullopt if there is nothing to look for.
  std::optional<SteadyTime> next_look() const { return next_look_; }

 private:
  std::function<bool(pid_t)> is_ours_;
  std::set<pid_t> foreign_;
  std::optional<SteadyTime> next_look_;
  std::chrono::milliseconds rest_{0};  // until the next look, if some are not dead yet
  Timer wake_;                         // for the next look
  std::set<pid_t> killed_;             // not reaped yet
  std::size_t count_ = 0;              // since the last report
  SteadyTime reported_at_{};
};

}  // namespace brood
