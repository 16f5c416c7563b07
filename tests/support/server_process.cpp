#include "tests/support/server_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "shared/base/check.hpp"

namespace brood {

ServerProcess::ServerProcess() : owner_(getpid()) {}

ServerProcess::~ServerProcess() {
  if (getpid() == owner_) kill9();
}

void ServerProcess::start(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = check("fork", fork());
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setpgid(0, 0);  // keeps Ctrl-C at the terminal, or kill(0), from the server
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR);
  for (int fd : {0, 1, 2}) dup2(null, fd);
  close_range(3, ~0U, 0);
  execvp(argv[0], argv.data());
  _exit(127);
}

bool ServerProcess::exited() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid_;
}

void ServerProcess::kill9() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  // A supervisor under test in this process may have reaped it: ECHILD is fine.
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  stands_still_ = false;
}

void ServerProcess::pause() {
  check("kill", kill(pid_, SIGSTOP));
  siginfo_t info{};
  check("waitid", waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED));
  stands_still_ = true;
}

void ServerProcess::resume() {
  check("kill", kill(pid_, SIGCONT));
  stands_still_ = false;
}

}  // namespace brood
