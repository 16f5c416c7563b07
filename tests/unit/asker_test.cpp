#include "supervisor/control/asker.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <functional>
#include <optional>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/job_mark.hpp"

using namespace brood;

BOOST_TEST_DONT_PRINT_LOG_VALUE(Standing)

namespace {

constexpr uid_t root = 0, brood_user = 990;
constexpr pid_t supervisor = 100;
constexpr std::uint64_t started = 5000;

FileLocks mark(pid_t of = supervisor, std::uint64_t start_time = started, FileLocks own = no_mark) {
  return mark_for_children(of, start_time, own).value();
}

Standing standing(std::optional<FileLocks> limit, FileLocks own = no_mark) {
  return standing_of({.user = brood_user, .lives = true, .limit = limit}, brood_user, own);
}

// The limit of a child that has done this to itself, as its parent sees it.
std::optional<FileLocks> seen_from_outside(const std::function<void()>& act) {
  int ready[2];
  check("pipe", pipe(ready));
  const pid_t child = check("fork", fork());
  if (child == 0) {
    act();
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  check("read", read(ready[0], &byte, 1));
  const auto limit = file_locks_of(child);
  kill(child, SIGKILL);
  check("waitpid", waitpid(child, nullptr, 0));
  close(ready[0]);
  close(ready[1]);
  return limit;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_supervisors_user_is_obeyed_by_what_no_job_has_started) {
  BOOST_CHECK(standing(no_mark) == Standing::trusted);
  BOOST_CHECK(standing(mark()) == Standing::job);
  BOOST_CHECK(standing(mark(7777, 123456)) == Standing::job);  // of another supervisor
  BOOST_CHECK(standing(12) == Standing::job);                  // a job may lower it further
}

BOOST_AUTO_TEST_CASE(root_is_obeyed_by_a_supervisor_of_another_user_whatever_else_is_seen) {
  BOOST_CHECK(standing_of({.user = root, .lives = false, .limit = {}}, brood_user, no_mark) == Standing::trusted);
  BOOST_CHECK(standing_of({.user = root, .lives = true, .limit = mark()}, root, no_mark) == Standing::job);
  BOOST_CHECK(standing_of({.user = root, .lives = true, .limit = no_mark}, root, no_mark) == Standing::trusted);
}

BOOST_AUTO_TEST_CASE(nothing_is_believed_of_an_asker_that_has_ended_or_does_not_show_itself) {
  BOOST_CHECK(standing_of({.user = brood_user, .lives = false, .limit = no_mark}, brood_user, no_mark) ==
              Standing::gone);
  BOOST_CHECK(standing({}) == Standing::hidden);
}

BOOST_AUTO_TEST_CASE(where_the_supervisor_itself_has_a_limit_its_jobs_have_a_lower_one) {
  for (const FileLocks own : {FileLocks{1}, FileLocks{10'000}, mark()}) {
    const FileLocks of_jobs = mark(200, started + 1, own);
    BOOST_TEST(of_jobs < own);
    BOOST_CHECK(standing(of_jobs, own) == Standing::job);
    BOOST_CHECK(standing(own, own) == Standing::trusted);
  }
  BOOST_CHECK(!mark_for_children(200, started, 0).has_value());
  BOOST_CHECK(standing(0, 0) == Standing::unmarked);
}

BOOST_AUTO_TEST_CASE(a_mark_names_one_supervisor) {
  BOOST_TEST(proves_descent(mark(), supervisor, started));
  for (const auto& [pid, time] : {std::pair<pid_t, std::uint64_t>{supervisor + 1, started},
                                  {supervisor, started + 1},
                                  {0, started},
                                  {supervisor, 0}})
    BOOST_TEST(!proves_descent(mark(), pid, time));
  BOOST_TEST(!proves_descent(no_mark, supervisor, started));
  // One that a job has started names itself as well.
  BOOST_TEST(proves_descent(mark(200, started + 1, mark()), 200, started + 1));
}

BOOST_AUTO_TEST_CASE(only_a_mark_that_names_another_or_none_disproves_descent) {
  BOOST_TEST(!disproves_descent(mark(), supervisor, started));
  BOOST_TEST(disproves_descent(mark(7777, 123456), supervisor, started));
  BOOST_TEST(disproves_descent(no_mark, supervisor, started));
  BOOST_TEST(!disproves_descent(9'999, supervisor, started));  // of a supervisor that had 10,000 itself
}

BOOST_AUTO_TEST_CASE(the_kernel_shows_the_mark_of_a_child_and_of_what_it_starts) {
  const std::uint64_t own = process_start_time(getpid());
  const pid_t self = getpid();
  const auto as_a_job = [&] { mark_as_job(self, own); };
  const FileLocks expected = mark(self, own, file_locks_of(0).value());

  BOOST_CHECK(seen_from_outside([] {}) == file_locks_of(0));
  BOOST_CHECK(seen_from_outside(as_a_job) == expected);
  // It hides, becomes root in a user namespace of its own, and tries to remove the mark.
  BOOST_CHECK(seen_from_outside([&] {
                if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(1);
                as_a_job();
                if (unshare(CLONE_NEWUSER) != 0) prctl(PR_SET_DUMPABLE, 0);
                const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
                prlimit(0, RLIMIT_LOCKS, &none, nullptr);
                prctl(PR_SET_DUMPABLE, 0);
              }) == expected);
}

// As a job of an operator whose group is not the supervisor's.
BOOST_AUTO_TEST_CASE(a_process_of_the_same_user_and_another_group_shows_its_mark_too) {
  if (geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can become another group");
    return;
  }
  constexpr uid_t nobody = 65534;
  constexpr gid_t another = 65533;
  int marked[2];
  check("pipe", pipe(marked));
  const pid_t job = check("fork", fork());
  if (job == 0) {
    if (setgid(another) != 0 || setuid(nobody) != 0) _exit(1);
    prctl(PR_SET_DUMPABLE, 1);
    mark_as_job(77, started);
    close(marked[1]);
    for (;;) pause();
  }
  close(marked[1]);
  char nothing = 0;
  check("read", read(marked[0], &nothing, 1));
  close(marked[0]);
  const pid_t looking = check("fork", fork());
  if (looking == 0) {
    if (setgid(nobody) != 0 || setuid(nobody) != 0) _exit(1);
    rlimit limit{};
    const bool is_refused = prlimit(job, RLIMIT_LOCKS, nullptr, &limit) != 0;
    _exit(is_refused && file_locks_of(job) == mark(77) ? 0 : 2);
  }
  int status = 0;
  check("waitpid", waitpid(looking, &status, 0));
  BOOST_TEST(status == 0);
  kill(job, SIGKILL);
  check("waitpid", waitpid(job, nullptr, 0));
}

BOOST_AUTO_TEST_CASE(the_limit_of_a_process_that_has_gone_is_unknown) {
  const pid_t child = check("fork", fork());
  if (child == 0) _exit(0);
  check("waitpid", waitpid(child, nullptr, 0));
  BOOST_CHECK(!file_locks_of(child).has_value());
}
