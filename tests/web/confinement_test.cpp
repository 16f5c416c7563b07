#include "supervisor/web/confinement.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <thread>

#include "shared/base/identity.hpp"

namespace {

// In a process of its own, confined as the page is: the number of the first of `tries` that went wrong; 0: none.
int first_wrong(bool (*const* tries)(pid_t other), int count) {
  const pid_t other = getpid();
  const pid_t child = fork();
  if (child == 0) {
    if (!brood::confine_page()) _exit(100);
    for (int i = 0; i < count; ++i) {
      if (!tries[i](other)) _exit(i + 1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr pid_t highest_pid = 4'194'303;

bool is_refused(long result) { return result == -1 && errno == EPERM; }

}  // namespace

// None of these would harm the other process, which is of the same user, if it were allowed.
BOOST_AUTO_TEST_CASE(the_page_reaches_no_other_process_of_its_user) {
  using Try = bool (*)(pid_t other);
  static constexpr Try tries[] = {
      [](pid_t other) { return is_refused(kill(other, 0)); },
      [](pid_t other) { return is_refused(syscall(SYS_tgkill, other, other, 0)); },
      [](pid_t other) {
        siginfo_t info{};
        info.si_code = SI_QUEUE;
        return is_refused(syscall(SYS_rt_sigqueueinfo, other, 0, &info));
      },
      [](pid_t other) {
        siginfo_t info{};
        info.si_code = SI_QUEUE;
        return is_refused(syscall(SYS_rt_tgsigqueueinfo, other, other, 0, &info));
      },
      [](pid_t other) {
        const int fd = static_cast<int>(syscall(SYS_pidfd_open, other, 0));
        return fd >= 0 && is_refused(syscall(SYS_pidfd_send_signal, fd, 0, nullptr, 0));
      },
      [](pid_t other) {
        return is_refused(setpriority(PRIO_PROCESS, static_cast<id_t>(other), getpriority(PRIO_PROCESS, 0)));
      },
      [](pid_t other) {
        cpu_set_t cores;
        return sched_getaffinity(other, sizeof cores, &cores) == 0 &&
               is_refused(sched_setaffinity(other, sizeof cores, &cores));
      },
      [](pid_t other) {
        const sched_param usual{};
        return is_refused(sched_setscheduler(other, SCHED_OTHER, &usual));
      },
      [](pid_t other) { return is_refused(prlimit(other, RLIMIT_CORE, nullptr, nullptr)); },
      [](pid_t other) { return is_refused(fcntl(STDIN_FILENO, F_SETOWN, other)); },
      [](pid_t other) {
        const f_owner_ex owner{.type = F_OWNER_PID, .pid = other};
        return is_refused(fcntl(STDIN_FILENO, F_SETOWN_EX, &owner));
      },
      [](pid_t other) { return is_refused(ioctl(STDIN_FILENO, FIOSETOWN, &other)); },
      [](pid_t) {
        const char letter = ' ';
        return is_refused(ioctl(STDIN_FILENO, TIOCSTI, &letter));
      },
      [](pid_t) { return is_refused(syscall(SYS_setreuid, -1, -1)); },
      [](pid_t) { return is_refused(syscall(SYS_open_tree, -1, "/", 0)); },
      [](pid_t) { return is_refused(fork()); },
  };
  BOOST_TEST(first_wrong(tries, std::size(tries)) == 0);
}

BOOST_AUTO_TEST_CASE(the_page_may_do_what_it_needs) {
  using Try = bool (*)(pid_t other);
  static constexpr Try tries[] = {
      [](pid_t) { return raise(0) == 0; },
      [](pid_t) {
        rlimit limit{};
        return getrlimit(RLIMIT_CORE, &limit) == 0 && prlimit(getpid(), RLIMIT_CORE, nullptr, &limit) == 0;
      },
      [](pid_t) { return fcntl(STDERR_FILENO, F_GETFD) >= 0; },
      [](pid_t) {
        int ends[2], waiting = -1;
        return pipe(ends) == 0 && ioctl(ends[0], FIONREAD, &waiting) == 0 && waiting == 0;
      },
      [](pid_t) {
        bool has_run = false;
        std::thread([&] { has_run = true; }).join();
        return has_run;
      },
      // Dead supervisors leave their scoreboards.
      [](pid_t) { return !brood::process_lives(highest_pid, 1); },
  };
  BOOST_TEST(first_wrong(tries, std::size(tries)) == 0);
}
