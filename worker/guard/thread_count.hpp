#pragma once

namespace brood {

// Whether a job has left threads behind, which would go on beside the next one.  The kernel's count of this process's
// threads is asked, by one stat() of /proc/self/task; where there is no /proc, none are ever seen.
class ThreadCount {
 public:
  // Those that are there now are nobody's: a library has started them when it was loaded, or in a handler.
  void note_present();

  // How many more there are than were ever nobody's.  One that has just been joined counts for an instant longer, so a
  // count that is too high is asked for again until it falls, for 20 ms at most.
  int left_behind();

 private:
  int present_ = 0;
};

}  // namespace brood
