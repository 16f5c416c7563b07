#include "supervisor/process/fork_child.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/job_mark.hpp"
#include "shared/base/log.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/process_title.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/process/shared_count.hpp"

namespace brood {
namespace {

constexpr std::uint64_t no_copy = std::uint64_t{1} << 32;  // plus errno: the fork failed

// Forking a process with several threads copies one of them and every lock the others hold.
void require_one_thread() {
  int threads = 0;
  if (DIR* tasks = opendir("/proc/self/task")) {
    while (const dirent* entry = readdir(tasks)) threads += entry->d_name[0] != '.';
    closedir(tasks);
  }
  if (threads > 1)
    throw std::logic_error("the supervisor has " + std::to_string(threads) + " threads and will not fork");
}

// Signals stay blocked across the fork: until the child has dropped the parent's dispositions, a TERM meant for it
// would wait in the parent's signalfd.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { end(); }
  void end() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

void drop_signals_of_the_parent() {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &by_default, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void close_all_but(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned next = 3;
  for (const int fd : keep) {
    if (fd < 3) continue;
    if (static_cast<unsigned>(fd) > next) syscall(SYS_close_range, next, static_cast<unsigned>(fd) - 1, 0);
    next = static_cast<unsigned>(fd) + 1;
  }
  syscall(SYS_close_range, next, UINT_MAX, 0);
}

void read_standard_input_from_nowhere() {
  const int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nowhere > 0) {
    dup2(nowhere, STDIN_FILENO);
    close(nowhere);
  }
}

// Makes the kernel choose workers before the supervisor when memory runs out.
void volunteer_for_the_oom_killer(int adjustment) {
  int own = 0;
  std::ifstream("/proc/self/oom_score_adj") >> plain(own);
  std::ofstream("/proc/self/oom_score_adj") << std::to_string(std::min(own + adjustment, 1000));
}

// Called first in each child, whether the supervisor or a sibling forked it.
void become_itself(const SpawnSettings& settings) {
  setsid();
  log::forget_waiting();
  if (settings.shield) settings.shield();
  // The supervisor cannot be dumped.  A child can: it writes core files and may write into its own /proc.  From here on
  // a job may trace it.
  prctl(PR_SET_DUMPABLE, 1);
  if (settings.oom_score_adjustment != 0) volunteer_for_the_oom_killer(settings.oom_score_adjustment);
  set_process_title(settings.title);
}

void become_a_child(const SpawnSettings& settings, pid_t parent, std::uint64_t parent_started) {
  // The parent may have died before we asked for a signal at its death.
  if (settings.parent_death_signal != 0 && !end_with_parent(settings.parent_death_signal, parent)) _exit(EXIT_SUCCESS);
  std::vector<int> keep = settings.keep;
  keep.push_back(log::descriptor());
  forget_event_loops();
  close_all_but(std::move(keep));
  if (!settings.speaks_for_operators && !mark_as_job(parent, parent_started))
    log::warn("child_not_marked", {{"child", settings.title},
                                   {"hint", "LimitLOCKS= of the service is 0, or its limits cannot be changed"}});
  read_standard_input_from_nowhere();
  become_itself(settings);
  drop_signals_of_the_parent();
}

[[noreturn]] void run_child(const SpawnSettings& settings, const std::function<void()>& become,
                            const std::function<int()>& body) {
  int status = EXIT_FAILURE;
  try {
    become();
    status = body();
  } catch (const std::exception& error) {
    log::error("child_failed", {{"child", settings.title}, {"reason", error.what()}});
  }
  log::flush();
  // Not exit(): it would destroy the parent's static objects and flush the parent's buffers.
  _exit(status);
}

}  // namespace

pid_t spawn(const SpawnSettings& settings, const std::function<int()>& body) {
  require_one_thread();
  const pid_t parent = getpid();
  const std::uint64_t parent_started = process_start_time(parent);
  const SignalsBlocked blocked;
  const pid_t pid = check("fork", fork());
  if (pid == 0)
    run_child(
        settings, [&] { become_a_child(settings, parent, parent_started); }, body);
  return pid;
}

// A process in between forks the copy and ends at once.  It shares our memory (vfork), so the page tables are copied
// only once, for the copy: for a gigabyte that takes milliseconds.
pid_t spawn_sibling(const SpawnSettings& settings, const std::function<int()>& body) {
  require_one_thread();
  const SignalsBlocked blocked;
  const SharedCount answer;
  const auto become = [&] {
    become_itself(settings);
    blocked.end();
  };
  const pid_t between = check("vfork", vfork());
  if (between == 0) {
    const pid_t copy = fork();
    if (copy == 0) run_child(settings, become, body);
    answer.value().store(copy > 0 ? static_cast<std::uint64_t>(copy) : no_copy + static_cast<std::uint64_t>(errno));
    _exit(EXIT_SUCCESS);
  }
  check("waitpid", waitpid(between, nullptr, 0));  // from here on the copy is a child of the supervisor
  const std::uint64_t got = answer.value().load();
  if (got == 0) throw std::runtime_error("fork: the process in between did not answer");
  if (got >= no_copy) throw std::system_error(static_cast<int>(got - no_copy), std::generic_category(), "fork");
  return static_cast<pid_t>(got);
}

bool end_with_parent(int signal, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, signal);
  return getppid() == parent;
}

pid_t spawn_program(const SpawnSettings& settings, const std::vector<std::string>& argv) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  return spawn(settings, [&] {
    ::signal(SIGPIPE, SIG_DFL);
    for (const int fd : settings.keep) fcntl(fd, F_SETFD, 0);  // across the exec too
    execvp(words[0], words.data());
    log::error("exec_failed", {{"program", argv[0]}, {"reason", std::generic_category().message(errno)}});
    return 127;
  });
}

ControlPipe make_control_pipe() {
  int ends[2];
  check("socketpair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
  ControlPipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  check("fcntl", fcntl(pipe.supervisor_end.get(), F_SETFL, O_NONBLOCK));
  return pipe;
}

}  // namespace brood
