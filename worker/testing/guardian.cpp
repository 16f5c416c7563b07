#include "worker/testing/guardian.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

#include "shared/base/check.hpp"

namespace brood::testing {
namespace {

// The data of the guardian, made before the fork: the test may have threads, so its child may only make system calls.
struct GuardianNeeds {
  char* const* arguments;
  char* const* environment;
  const char* directory;
  int orders, output, test;  // `test`: a pidfd, or -1
};

// The numbers of the guardian's descriptors.
enum Place { orders_place = 3, output_place = 4, test_place = 5, places_end = 6 };

void arrange_descriptors(const GuardianNeeds& needs) {
  constexpr int out_of_the_way = 64;
  const int orders = fcntl(needs.orders, F_DUPFD, out_of_the_way);
  const int output = fcntl(needs.output, F_DUPFD, out_of_the_way);
  const int test = needs.test < 0 ? -1 : fcntl(needs.test, F_DUPFD, out_of_the_way);
  const int null = open("/dev/null", O_RDWR);
  // Otherwise a reader of the test's output would wait for the guardian too.
  for (const int standard : {0, 1, 2}) dup2(null, standard);
  dup2(orders, orders_place);
  dup2(output, output_place);
  close(test_place);
  if (test >= 0) dup2(test, test_place);
  close_range(places_end, ~0U, 0);
}

[[noreturn]] void become_program(const GuardianNeeds& needs, pid_t guardian, const sigset_t& none) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guardian) _exit(127);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(output_place, 1);
  dup2(output_place, 2);
  close_range(orders_place, ~0U, 0);
  execve(needs.arguments[0], needs.arguments, needs.environment);
  _exit(127);
}

void kill_children() {
  char path[64] = "/proc/thread-self/children";
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  pid_t pid = 0;
  char block[512];
  for (ssize_t size; (size = read(file, block, sizeof block)) > 0;) {
    for (ssize_t i = 0; i < size; ++i) {
      if (block[i] >= '0' && block[i] <= '9') {
        pid = pid * 10 + (block[i] - '0');
        continue;
      }
      if (pid > 0) ::kill(pid, SIGKILL);  // it is not reaped yet, so no other process has its pid
      pid = 0;
    }
  }
  close(file);
}

// Kills the program and all its descendants.  The guardian becomes the parent of a killed process's children, since it
// is their subreaper.
void kill_all(pid_t program) {
  constexpr timespec look_again{.tv_sec = 0, .tv_nsec = 5'000'000};
  if (program > 0) ::kill(program, SIGKILL);
  for (;;) {
    kill_children();
    pid_t ended = 0;
    while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (ended < 0 && errno == ECHILD) return;
    nanosleep(&look_again, nullptr);
  }
}

int exit_status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

// Reaps ended children, sends the signals that the test orders, and returns when the test ends or closes its socket.
// `program` becomes 0 when the program has ended.
void keep_watch(pid_t& program, const sigset_t& but_children) {
  for (;;) {
    int status = 0;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != program) continue;
      program = 0;
      const std::int32_t told = exit_status_of(status);
      send(orders_place, &told, sizeof told, MSG_NOSIGNAL);
    }
    pollfd sources[] = {{orders_place, POLLIN, 0}, {test_place, POLLIN, 0}};
    if (ppoll(sources, 2, nullptr, &but_children) < 0) continue;
    if ((sources[1].revents & POLLIN) != 0) return;
    if (sources[0].revents == 0) continue;
    unsigned char order = 0;
    if (recv(orders_place, &order, 1, 0) != 1) return;
    if (program > 0) ::kill(program, order);
  }
}

[[noreturn]] void guard(const GuardianNeeds& needs) {
  setsid();  // the terminal's Ctrl-C reaches the test alone
  prctl(PR_SET_NAME, "brood: guardian");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, 0);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  signal(SIGCHLD, [](int) {});
  sigset_t all, none, but_children;
  sigfillset(&all);
  sigfillset(&but_children);
  sigdelset(&but_children, SIGCHLD);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  arrange_descriptors(needs);

  const pid_t self = getpid();
  pid_t program = _Fork();
  if (program == 0) become_program(needs, self, none);
  if (program > 0) keep_watch(program, but_children);
  kill_all(program);
  execl("/bin/rm", "rm", "-rf", needs.directory, nullptr);
  _exit(1);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Guardian::Guardian(const Program& program) : owner_(getpid()) {
  int ends[2];
  check("socketpair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
  orders_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  const UniqueFd output(
      check(program.output.c_str(), open(program.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)));
  // The pidfd becomes readable when the test ends; an old kernel has none.  The socket is not enough, since other
  // children of the test may hold its end open.
  const UniqueFd test(static_cast<int>(syscall(SYS_pidfd_open, owner_, 0)));
  const std::vector<char*> arguments = pointers(program.arguments), environment = pointers(program.environment);
  const GuardianNeeds needs{arguments.data(), environment.data(), program.directory.c_str(),
                            theirs.get(),     output.get(),       test.get()};

  // The signals are blocked so that no handler of the test runs in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_ = fork();
  if (pid_ == 0) guard(needs);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  check("fork", pid_);
}

Guardian::~Guardian() {
  if (getpid() != owner_) return;
  shutdown(orders_.get(), SHUT_RDWR);  // a forked child may have the same end
  // The call fails if a test that waits for any child has reaped the guardian.
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guardian::signal(int number) {
  const auto order = static_cast<unsigned char>(number);
  check("send", send(orders_.get(), &order, 1, MSG_NOSIGNAL));
}

std::optional<int> Guardian::exit_status() {
  std::int32_t told = 0;
  if (!status_ && recv(orders_.get(), &told, sizeof told, MSG_DONTWAIT) == sizeof told) status_ = told;
  return status_;
}

}  // namespace brood::testing
