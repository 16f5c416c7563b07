#pragma once

#include <string>
#include <vector>

namespace brood {

// Detects whether a job has left threads behind, which would run beside the next job.  It reads the number of threads
// of this process by one stat() of /proc/self/task.  Without /proc it sees none.
class ThreadCount {
 public:
  // Notes the threads that exist now.  They belong to no job: a library has started them when it was loaded, or in a
  // handler.
  void note_present();

  // Returns how many more threads exist.  A thread that was just joined counts for an instant longer, so a count that
  // is too high is read again until it falls, for 20 ms at most.
  int left_behind();

 private:
  int present_ = 0;
};

// Returns the names of all threads of this process but the calling one.  The list is empty where there is no /proc.
std::vector<std::string> names_of_other_threads();

}  // namespace brood
