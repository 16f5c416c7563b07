#pragma once

namespace brood {

// Detects whether a job has left timers of timer_create(2) behind, which would send their signals to the next job.
// The kernel numbers the timers of a process in the order in which they are made.  So the number of a timer of our own,
// made and deleted at once, shows the numbers of a job's timers.  That takes two system calls if the job has made none.
class TimerCount {
 public:
  // Notes the timers that exist now.  They belong to no job: a library has made them when it was loaded, or in a
  // handler.
  void note_present();

  // Stops the timers that were made since and still exist.  Returns their number.
  int stop_left_behind();

 private:
  int last_ = -1;  // the number of our own timer; -1: the kernel refused it
};

}  // namespace brood
