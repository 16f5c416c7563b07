#include "supervisor/process/children.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

[[noreturn]] int wait_for_ever() {
  for (;;) pause();
}

struct Family {
  EventLoop loop;
  Children children{loop};
  SteadyTime now{24h};  // invented: nothing here waits for a clock
  std::vector<Children::End> told;

  ~Family() {
    children.kill_overdue(now + 24h);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }

  Child spawn(const std::function<int()>& body, int parent_death_signal = SIGKILL) {
    return children.spawn({.title = "brood: test", .keep = {}, .parent_death_signal = parent_death_signal},
                          Children::Deadline{now + 5s}, body,
                          [this](const Children::End& end) { told.push_back(end); });
  }

  // Waits for the next one that ends, as the supervisor does.  Returns its pid.
  pid_t reap() {
    int status = 0;
    const pid_t pid = check("waitpid", waitpid(-1, &status, 0));
    const ExitStatus end =
        WIFEXITED(status) ? ExitStatus{true, WEXITSTATUS(status)} : ExitStatus{false, WTERMSIG(status)};
    BOOST_TEST(children.is_one(pid));
    BOOST_TEST(children.reaped(pid, end, now));
    BOOST_TEST(!children.is_one(pid));
    BOOST_TEST(!children.reaped(pid, end, now));
    return pid;
  }
};

bool has_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool has_ended(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_end_is_told_once_with_how_it_came) {
  Family test;
  const Child child = test.spawn([] { return 3; });
  const pid_t pid = child.pid();
  BOOST_TEST(child.is_running());
  BOOST_TEST((test.children.next_deadline() == test.now + 5s));

  BOOST_TEST(test.reap() == pid);

  BOOST_TEST(!child.is_running());
  BOOST_TEST(child.pid() == 0);
  BOOST_TEST(!test.children.next_deadline().has_value());
  BOOST_REQUIRE(test.told.size() == 1U);
  BOOST_TEST(test.told[0].pid == pid);
  BOOST_TEST(test.told[0].status.describe() == "exited with 3");
  BOOST_TEST(!test.told[0].overdue);
  BOOST_TEST((test.told[0].at == test.now));
}

BOOST_AUTO_TEST_CASE(an_owner_that_has_gone_or_taken_another_hears_nothing_and_the_child_is_still_ours) {
  Family test;
  pid_t first = 0;
  {
    const Child gone = test.spawn([] { return 0; });
    first = gone.pid();
  }
  BOOST_TEST(test.children.is_one(first));
  test.reap();
  BOOST_TEST(test.told.empty());

  Child replaced = test.spawn([] { return 1; });
  replaced = test.spawn(wait_for_ever);
  test.reap();
  BOOST_TEST(test.told.empty());
  BOOST_TEST(replaced.is_running());
  replaced.kill();
  test.reap();
  BOOST_REQUIRE(test.told.size() == 1U);
  BOOST_TEST(test.told[0].status.describe() == "killed by SIGKILL");
}

BOOST_AUTO_TEST_CASE(a_child_that_was_moved_tells_its_end_still) {
  Family test;
  Child first = test.spawn([] { return 0; });
  const Child second = std::move(first);
  test.reap();
  BOOST_TEST(test.told.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_callback_may_destroy_its_child_and_start_another) {
  Family test;
  Child child;
  int ends = 0;
  const auto spawn = [&](const auto& again) -> void {
    child = test.children.spawn(
        {.title = "brood: test", .keep = {}}, std::nullopt, [] { return 0; },
        [&](const Children::End&) {
          child = {};
          if (++ends < 3) again(again);
        });
  };
  spawn(spawn);
  for (int i = 0; i < 3; ++i) test.reap();
  BOOST_TEST(ends == 3);
  BOOST_TEST(!has_children());
}

BOOST_AUTO_TEST_CASE(an_overdue_child_is_killed_with_its_group_also_without_a_callback) {
  for (const bool is_awaited : {true, false}) {
    Family test;
    std::array<int, 2> ends{};
    check("pipe2", pipe2(ends.data(), O_CLOEXEC));
    const UniqueFd from(ends[0]), to(ends[1]);
    Child child = test.children.spawn(
        {.title = "brood: test", .keep = {to.get()}, .parent_death_signal = SIGKILL}, Children::Deadline{test.now + 5s},
        [&] {
          const pid_t grandchild = fork();
          if (grandchild == 0) wait_for_ever();
          check("write", write(to.get(), &grandchild, sizeof grandchild));
          return wait_for_ever();
        },
        [&](const Children::End& end) { test.told.push_back(end); });
    const pid_t pid = child.pid();
    pid_t grandchild = 0;
    BOOST_REQUIRE(read(from.get(), &grandchild, sizeof grandchild) == sizeof grandchild);
    if (!is_awaited) child = {};

    test.children.kill_overdue(test.now + 4999ms);
    BOOST_TEST(!has_ended(pid));
    BOOST_TEST(test.children.next_deadline().has_value());
    test.children.kill_overdue(test.now + 5s);
    BOOST_TEST(!test.children.next_deadline().has_value());  // nothing to do until it is reaped

    BOOST_TEST(test.reap() == pid);
    BOOST_TEST(eventually([&] { return process_start_time(grandchild) == 0; }));
    BOOST_TEST(test.told.size() == (is_awaited ? 1U : 0U));
    for (const Children::End& end : test.told) {
      BOOST_TEST(end.overdue);
      BOOST_TEST(end.status.describe() == "killed by SIGKILL");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_deadline_moves_while_there_is_progress) {
  Family test;
  const auto progress = std::make_shared<SharedCount>();
  const Child child = test.children.spawn({.title = "brood: test", .keep = {}, .parent_death_signal = SIGKILL},
                                          Children::Deadline{test.now + 5s, progress, 2s}, wait_for_ever, nullptr);
  test.now += 4s;
  progress->value().fetch_add(1 << 20);
  test.children.kill_overdue(test.now);
  BOOST_TEST((test.children.next_deadline() == test.now + 2s));
  test.children.kill_overdue(test.now + 1999ms);
  BOOST_TEST(!has_ended(child.pid()));
  test.children.kill_overdue(test.now + 2s);
  test.reap();
}

BOOST_AUTO_TEST_CASE(a_pid_that_was_not_forked_here_is_refused) {
  Family test;
  const Child child = test.spawn(wait_for_ever);
  for (const pid_t stranger : {0, 1, getpid()}) {
    BOOST_TEST(!test.children.is_one(stranger));
    BOOST_TEST(!test.children.outlives_us(stranger));
    BOOST_TEST(!test.children.reaped(stranger, ExitStatus{true, 0}, test.now));
  }
  BOOST_TEST(test.told.empty());
  BOOST_TEST(child.is_running());
}

BOOST_AUTO_TEST_CASE(only_a_child_that_no_signal_ends_outlives_us) {
  Family test;
  const Child bound = test.spawn(wait_for_ever), unbound = test.spawn(wait_for_ever, 0);
  BOOST_TEST(!test.children.outlives_us(bound.pid()));
  BOOST_TEST(test.children.outlives_us(unbound.pid()));
}

BOOST_AUTO_TEST_CASE(a_spawn_that_fails_throws_and_leaves_nothing) {
  Family test;
  Child child;
  {
    std::promise<void> end;
    std::jthread another([&] { end.get_future().wait(); });  // a process with two threads does not fork
    BOOST_CHECK_THROW(child = test.spawn([] { return 0; }), std::logic_error);
    end.set_value();
  }
  BOOST_TEST(!child.is_running());
  BOOST_TEST(!has_children());
  BOOST_TEST(!test.children.next_deadline().has_value());
  BOOST_TEST(test.told.empty());
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_ends_with_127) {
  Family test;
  const Child child = test.children.spawn_program({.title = "brood: test", .keep = {}}, {"/nowhere/to-be-found"},
                                                  [&](const Children::End& end) { test.told.push_back(end); });
  test.reap();
  BOOST_REQUIRE(test.told.size() == 1U);
  BOOST_TEST(test.told[0].status.describe() == "exited with 127");
}

BOOST_AUTO_TEST_CASE(a_deadline_wakes_the_loop) {
  Family test;
  test.now = steady_now() - 5s + 50ms;
  const Child child = test.spawn(wait_for_ever);
  for (int round = 0; round < 3; ++round) {  // a timer may be a millisecond early
    test.loop.run_once();
    test.children.kill_overdue(steady_now());
    if (!test.children.next_deadline()) break;
  }
  BOOST_REQUIRE(!test.children.next_deadline().has_value());  // a loop without a timer would not have waited
  test.reap();
  BOOST_REQUIRE(test.told.size() == 1U);
  BOOST_TEST(test.told[0].overdue);
}
