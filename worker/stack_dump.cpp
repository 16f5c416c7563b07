#include "worker/stack_dump.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/stacktrace.hpp>
#include <cerrno>
#include <csignal>
#include <string>

#include "shared/check.hpp"
#include "shared/log.hpp"

namespace brood {
namespace {

constexpr std::size_t frames_of_the_handler = 3;

// The frames of the job, innermost first; those of the worker beneath it are always the same.
void log_stack(pid_t worker) {
  const boost::stacktrace::stacktrace stack(frames_of_the_handler, 100);
  int number = 0;
  for (const boost::stacktrace::frame& frame : stack) {
    if (frame.name().starts_with("brood::perform(") || frame.name().starts_with("brood::run_worker(")) break;
    log::info("stack", {{"worker_pid", worker},
                        {"frame", number++},
                        {"function", frame.name()},
                        {"file", frame.source_file()},
                        {"line", frame.source_line()}});
  }
  log::flush();
}

// The job may be anywhere, inside malloc too, so this process must not symbolise.  A copy of it may: _Fork is
// async-signal-safe, and a copy that waits for a lock of the original for ever is ended by its alarm.  It is forked
// twice, so that the job finds no child of its own that it did not make.
void dump_in_a_copy(int) {
  const int saved = errno;
  const pid_t worker = getpid();
  const pid_t child = _Fork();
  if (child == 0) {
    if (_Fork() == 0) {
      signal(SIGALRM, SIG_DFL);
      alarm(5);
      log_stack(worker);
    }
    _exit(0);
  }
  if (child > 0) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  errno = saved;
}

}  // namespace

void dump_stack_on(int signal) {
  { const boost::stacktrace::stacktrace first; }  // loads the unwinder now, not in the handler
  struct sigaction action {};
  action.sa_handler = dump_in_a_copy;
  action.sa_flags = SA_RESTART;
  check("sigaction", sigaction(signal, &action, nullptr));
}

}  // namespace brood
