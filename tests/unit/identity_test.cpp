#include "shared/base/identity.hpp"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <string>

#include "shared/base/check.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(the_name_is_host_pid_and_twelve_hex_digits) {
  const Identity self = Identity::of_this_process();
  const std::string front = self.hostname + ":" + std::to_string(getpid()) + ":";
  BOOST_TEST(self.name.starts_with(front));
  const std::string nonce = self.name.substr(front.size());
  BOOST_TEST(nonce.size() == 12u);
  BOOST_TEST(nonce.find_first_not_of("0123456789abcdef") == nonce.npos);
  BOOST_TEST(self.hostname.find(':') == self.hostname.npos);
  BOOST_TEST(self.boot_id.size() == 36u);
  BOOST_TEST(self.pid_namespace.starts_with("pid:["));
  BOOST_TEST(self.start_time > 0u);
  BOOST_TEST(Identity::of_this_process().name != self.name);
}

BOOST_AUTO_TEST_CASE(dyno_names_the_host_and_markup_does_not_pass) {
  setenv("DYNO", "web.1", 1);
  BOOST_TEST(Identity::of_this_process().hostname == "web.1");
  setenv("DYNO", "<b>a:b c\"\n", 1);
  BOOST_TEST(Identity::of_this_process().hostname == "-b-a-b-c--");
  setenv("DYNO", std::string(1000, 'x').c_str(), 1);
  BOOST_TEST(Identity::of_this_process().hostname.size() == 64u);
  unsetenv("DYNO");
}

BOOST_AUTO_TEST_CASE(another_boot_or_namespace_is_another_host) {
  const Identity self = Identity::of_this_process();
  Identity other = self;
  other.boot_id = "another";
  BOOST_TEST(!self.same_boot(other));
  other = self;
  other.pid_namespace = "pid:[1]";
  BOOST_TEST(!self.same_boot(other));
}

BOOST_AUTO_TEST_CASE(a_process_that_proc_hides_is_another_users_unless_it_can_be_signalled) {
  const uid_t own = 1000, another = 1001;
  BOOST_TEST(may_be_hidden({.error = 0}, own, own));
  BOOST_TEST(!may_be_hidden({.error = ESRCH}, own, own));
  BOOST_TEST(!may_be_hidden({.error = EPERM}, own, own));
  BOOST_TEST(may_be_hidden({.error = EPERM}, another, own));
  BOOST_TEST(may_be_hidden({.error = EPERM}, std::nullopt, own));
  // A job asks about its own supervisor, which the job's filter hides.
  BOOST_TEST(may_be_hidden({.error = EPERM, .asking_is_refused = true}, own, own));
}

// As under ProtectProc=invisible.  The processes: one of root's, one of our user's, and one of our user's that hides,
// as supervisors do.
BOOST_AUTO_TEST_CASE(where_proc_hides_processes_a_pid_that_another_user_has_now_is_not_ours) {
  if (geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can mount a /proc that hides processes");
    return;
  }
  const auto start = [](uid_t user, int dumpable) {
    const pid_t child = check("fork", fork());
    if (child != 0) return child;
    if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) _exit(1);
    prctl(PR_SET_DUMPABLE, dumpable);
    for (;;) pause();
  };
  constexpr uid_t user = 12'345;
  const pid_t of_root = start(0, 1), seen = start(user, 1), hiding = start(user, 0);
  while (process_start_time(hiding) == 0) usleep(1000);
  const std::uint64_t start_time = process_start_time(seen);

  const pid_t judge = check("fork", fork());
  if (judge == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("proc", "/proc", "proc", 0, "hidepid=2") != 0)
      _exit(77);
    usleep(50'000);  // until the two have become that user
    if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) _exit(1);
    Identity unsaid;
    unsaid.pid = of_root;
    unsaid.start_time = 42;
    Identity others = unsaid;
    others.user = 0;
    const bool right = access(("/proc/" + std::to_string(hiding) + "/stat").c_str(), F_OK) != 0 &&
                       !process_lives(of_root, 42) && !pid_is_taken(of_root) && process_lives(seen, start_time) &&
                       !process_lives(seen, start_time + 1) && process_lives(hiding, 42) && pid_is_taken(hiding) &&
                       supervisor_lives(others) && supervisor_lives(unsaid);
    _exit(right ? 0 : 2);
  }
  int status = 0;
  check("waitpid", waitpid(judge, &status, 0));
  for (const pid_t child : {of_root, seen, hiding}) {
    ::kill(child, SIGKILL);
    check("waitpid", waitpid(child, nullptr, 0));
  }
  BOOST_TEST_REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    BOOST_TEST_MESSAGE("skipped: this machine lets nobody mount /proc");
  else
    BOOST_TEST(WEXITSTATUS(status) == 0);
}

BOOST_AUTO_TEST_CASE(a_process_lives_until_it_is_a_zombie) {
  const pid_t child = check("fork", fork());
  if (child == 0) {
    for (;;) pause();
  }
  const std::uint64_t start_time = process_start_time(child);
  BOOST_TEST(start_time > 0u);
  BOOST_TEST(process_lives(child, start_time));
  BOOST_TEST(!process_lives(child, start_time + 1));

  ::kill(child, SIGKILL);
  siginfo_t info;
  check("waitid", waitid(P_PID, child, &info, WEXITED | WNOWAIT));
  BOOST_TEST(!process_lives(child, start_time));
  check("waitpid", waitpid(child, nullptr, 0));
  BOOST_TEST(process_start_time(child) == 0u);
  BOOST_TEST(process_start_time(-1) == 0u);
  BOOST_TEST(!process_lives(child, 0));
}
