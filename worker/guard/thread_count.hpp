#pragma once

#include <string>
#include <vector>

namespace brood {

// Tells whether a job has left threads behind, which would go on beside the next one.  Asks the kernel how many threads
// this process has, by one stat() of /proc/self/task; where there is no /proc, it sees none.
class ThreadCount {
 public:
  // The threads that are there now belong to no job: a library has started them when it was loaded, or in a handler.
  void note_present();

  // How many threads there are beyond those.  A thread that was just joined counts for an instant longer, so a count
  // that is too high is read again until it falls, for 20 ms at most.
  int left_behind();

 private:
  int present_ = 0;
};

// The names of all threads of this process but the calling one; empty where there is no /proc.
std::vector<std::string> names_of_other_threads();

}  // namespace brood
