#pragma once

#include <optional>

#include "shared/job/payload.hpp"
#include "worker/guard/process_state.hpp"
#include "worker/guard/thread_count.hpp"
#include "worker/guard/timer_count.hpp"
#include "worker/run/run_book.hpp"
#include "worker/run/workplace.hpp"

namespace brood {

// Keeps a job from harming later ones in its worker: restores the settings that it changed, stops its timers, and has a
// worker with left threads replaced.
class LeftBehind {
 public:
  LeftBehind(Workplace& place, RunBook& book) : place_(place), book_(book) {}

  // Call it once the libraries are loaded.  The present state is restored after each job, and the present threads and
  // timers belong to no job.
  void note_state();

  // Looks for threads and timers of the job.  Call it while the entry still runs, so that a crash of such a thread is
  // charged to the job; and again after its hooks, which are code of the job, too.
  void look(const Payload& job);
  bool has_threads() { return threads_.left_behind() > 0; }

  // Restores the state.  `made_calls`: the job may have made system calls.
  void put_right(bool made_calls);
  // Restores the state after the handlers of an event, whose timers and threads belong to no job.
  void put_right_after_handlers();

 private:
  void stop_timers(bool allowed);
  void look_for_threads(const Payload& job, bool allowed);
  void note_present();

  Workplace& place_;
  RunBook& book_;
  std::optional<ProcessState> state_;  // once the libraries are loaded
  ThreadCount threads_;
  TimerCount timers_;
};

}  // namespace brood
