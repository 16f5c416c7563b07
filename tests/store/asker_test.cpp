#include "supervisor/control/asker.hpp"

#include <linux/sched.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/listening_socket.hpp"

using namespace brood;

namespace {

// Makes this kernel, for this process, one without these calls.
void lose(bool peer_pidfd, bool pidfd_open) {
  const std::unique_ptr<void, decltype(&seccomp_release)> filter(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  constexpr int so_peerpidfd = 77;
  const scmp_arg_cmp is_it{.arg = 2, .op = SCMP_CMP_EQ, .datum_a = so_peerpidfd, .datum_b = 0};
  if (peer_pidfd) seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(ENOPROTOOPT), SCMP_SYS(getsockopt), 1, &is_it);
  if (pidfd_open) seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(pidfd_open), 0);
  if (seccomp_load(filter.get()) != 0) _exit(2);
}

// Forks a process with exactly this pid; returns 0 if this process may not choose one.
pid_t fork_as(pid_t pid) {
  clone_args wanted{};
  wanted.exit_signal = SIGCHLD;
  wanted.set_tid = reinterpret_cast<std::uintptr_t>(&pid);
  wanted.set_tid_size = 1;
  const long child = syscall(SYS_clone3, &wanted, sizeof wanted);
  if (child == 0) {
    for (;;) pause();
  }
  return child < 0 ? 0 : static_cast<pid_t>(child);
}

enum class When { before_the_accept, after_it };

// A process connects and ends, and a bystander gets its pid.  Then its connection asks.
int judge_after_reuse(When when) {
  Listening listening;
  const UniqueFd client(socket(AF_UNIX, SOCK_STREAM, 0));
  const pid_t connecting = fork();
  if (connecting == 0) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    listening.path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) _exit(1);
    for (;;) pause();
  }
  pollfd connected{client.get(), POLLOUT, 0};
  while (poll(&connected, 1, 1) != 1 || (connected.revents & POLLHUP)) {
  }
  if (when == When::after_it && !listening.run_until([&] { return listening.socket->clients() == 1; })) return 3;
  kill(connecting, SIGKILL);
  waitpid(connecting, nullptr, 0);
  // Within the same hundredth of a second its start time would be the same, too.  A real pid is reused much later.
  usleep(20'000);
  const pid_t bystander = fork_as(connecting);
  if (bystander == 0) return 77;
  const std::string text = "1 stop []\n";
  if (send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) return 4;
  if (!listening.run_until([&] { return listening.asked.size() == 1; })) return 5;
  const Asker& asker = *listening.asked[0].reply.asker();
  const bool is_fooled = asker.pid() != connecting || standing_of(asker, no_mark) != Standing::gone;
  kill(bystander, SIGKILL);
  waitpid(bystander, nullptr, 0);
  return is_fooled ? 6 : 0;
}

int status_of_child(const std::function<int()>& body) {
  const pid_t child = check("fork", fork());
  if (child == 0) _exit(body());
  int status = 0;
  check("waitpid", waitpid(child, &status, 0));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool kernel_tells_who_connected() {
  int ends[2], process = -1;
  check("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
  socklen_t size = sizeof process;
  const bool tells = getsockopt(ends[0], SOL_SOCKET, 77, &process, &size) == 0;
  for (const int fd : {ends[0], ends[1], process}) close(fd);
  return tells;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_process_that_has_the_pid_of_the_one_that_connected_is_not_taken_for_it) {
  const auto is_not_fooled = [](bool peer_pidfd, bool pidfd_open, When when) {
    const int status = status_of_child([&] {
      if (peer_pidfd || pidfd_open) lose(peer_pidfd, pidfd_open);
      return judge_after_reuse(when);
    });
    if (status == 77) BOOST_TEST_MESSAGE("skipped: no process may choose a pid here");
    BOOST_TEST((status == 0 || status == 77), "status " << status << " without " << peer_pidfd << pidfd_open);
  };
  is_not_fooled(false, false, When::after_it);
  if (kernel_tells_who_connected()) is_not_fooled(false, false, When::before_the_accept);
  // On a kernel before 6.5, and where pidfds are refused as well.
  is_not_fooled(true, false, When::after_it);
  is_not_fooled(true, true, When::after_it);
}

BOOST_AUTO_TEST_CASE(the_process_that_asks_is_known_for_as_long_as_it_lives) {
  for (const bool lost : {false, true}) {
    BOOST_TEST(in_child([&] {
      if (lost) lose(true, true);
      Listening listening;
      const UniqueFd client = listening.request("1 stop []\n");
      if (!listening.run_until([&] { return listening.asked.size() == 1; })) return false;
      const Asker& asker = *listening.asked[0].reply.asker();
      return asker.pid() == getpid() && asker.user() == geteuid() && asker.lives();
    }));
  }
}
