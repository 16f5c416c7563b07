#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <optional>

namespace brood {

// A forked child that runs `body`.  Fork it while no other thread runs: the sanitizers of g++ 12 do not hold their own
// locks over a fork, so a child that was forked during another thread's malloc would wait for that lock for ever.
class ForkedChild {
 public:
  template <typename Body>
  explicit ForkedChild(Body body) : pid_(fork()) {
    if (pid_ != 0) return;
    bool well = false;
    try {
      well = body();
    } catch (...) {
    }
    _exit(well ? 0 : 1);
  }
  ~ForkedChild() {
    if (!well_) wait(0);
  }
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  bool is_running() { return !well_ && !wait(WNOHANG); }

  // Waits for its end.  Returns whether `body` returned true.
  bool was_well() {
    if (!well_) wait(0);
    return *well_;
  }

 private:
  bool wait(int how) {
    int status = 0;
    if (waitpid(pid_, &status, how) == 0) return false;
    well_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return true;
  }

  pid_t pid_;
  std::optional<bool> well_;
};

// Runs `body` in a forked child.  Returns true if `body` did.
template <typename Body>
bool in_child(Body body) {
  return ForkedChild(body).was_well();
}

}  // namespace brood
