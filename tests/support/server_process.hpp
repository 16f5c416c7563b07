#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace brood {

// A server that a test starts and ends.  It ends with the test, even if the test is killed; but a forked child that
// unwinds does not end its parent's server.  Start it on the main thread: the kernel kills it when the thread that
// started it ends.
class ServerProcess {
 public:
  ServerProcess();
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  void start(std::vector<std::string> arguments);  // the program comes first
  pid_t pid() const { return pid_; }               // -1: it does not run
  bool exited() const;                             // by itself
  bool runs() const { return pid_ > 0 && !stands_still_; }

  void kill9();  // SIGKILL, and waits until it is gone
  void pause();  // SIGSTOP, and waits until it is stopped
  void resume();

 private:
  pid_t pid_ = -1;
  bool stands_still_ = false;
  const pid_t owner_;
};

}  // namespace brood
