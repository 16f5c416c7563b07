#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "shared/unique_fd.hpp"
#include "supervisor/event_loop.hpp"
#include "supervisor/generation.hpp"
#include "supervisor/worker_end.hpp"

namespace brood {

// Tries what a new configuration's workers would load, in a short-lived child: what a library does when it is loaded
// may be anything.
class LibraryCheck {
 public:
  // `refusal` is a sentence; empty: everything can be loaded.
  using Done = std::function<void(const std::string& refusal)>;

  explicit LibraryCheck(EventLoop& loop);

  // Throws std::system_error when it cannot fork.  One at a time.
  void begin(const ChildBodies& bodies, Done done);
  // Ends it; `done` is not called.
  void abandon();

  bool is_child(pid_t pid) const { return pid != 0 && pid == pid_; }
  // One of our children ended; false when `pid` was none of ours.
  bool reaped(pid_t pid, const ExitStatus& status);

 private:
  Timer deadline_;
  pid_t pid_ = 0;
  bool overdue_ = false;
  UniqueFd answer_;
  Done done_;
};

}  // namespace brood
