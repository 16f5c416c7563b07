#pragma once

namespace brood {

// Detects whether a job has left timers of timer_create(2) behind, which would send their signals to the next job.
// The kernel numbers the timers of a process in the order in which they are made.  So a timer of our own, made and
// deleted at once, shows the numbers of a job's timers: two system calls if it has made none.
class TimerCount {
 public:
  // The timers that are there now belong to no job: a library has made them when it was loaded, or in a handler.
  void note_present();

  // Stops those that were made since and are there still; returns how many.
  int stop_left_behind();

 private:
  int last_ = -1;  // the number of our own one; -1: the kernel gave us none
};

}  // namespace brood
