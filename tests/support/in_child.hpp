#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace brood {

// Runs `body` in a forked child; true when it returned true.
template <typename Body>
bool in_child(Body body) {
  const pid_t pid = fork();
  if (pid == 0) {
    bool well = false;
    try {
      well = body();
    } catch (...) {
    }
    _exit(well ? 0 : 1);
  }
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace brood
