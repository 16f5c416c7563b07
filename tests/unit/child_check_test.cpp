#include "supervisor/process/child_check.hpp"

#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Checking {
  EventLoop loop;
  Children children{loop};
  ChildCheck check{children};
  std::optional<std::string> refusal;

  void begin(const std::function<int(int)>& body) {
    check.begin({.title = "brood: check", .what = "the test"}, body,
                [this](const std::string& said) { refusal = said; });
  }
  void reap() {
    int status = 0;
    const pid_t pid = brood::check("waitpid", waitpid(-1, &status, 0));
    BOOST_TEST(children.reaped(
        pid, WIFEXITED(status) ? ExitStatus{true, WEXITSTATUS(status)} : ExitStatus{false, WTERMSIG(status)},
        steady_now()));
  }
};

int wait_for_ever(int) {
  for (;;) pause();
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_went_well_has_no_refusal) {
  Checking test;
  test.begin([](int) { return EX_OK; });
  test.reap();
  BOOST_TEST(test.refusal.value() == "");
}

BOOST_AUTO_TEST_CASE(the_child_says_why_not) {
  Checking test;
  test.begin([](int answer) {
    check("write", write(answer, "no such file", 12));
    return EX_CONFIG;
  });
  test.reap();
  BOOST_TEST(test.refusal.value() == "no such file");
}

BOOST_AUTO_TEST_CASE(a_child_that_could_not_say_it_is_described) {
  Checking test;
  test.begin([](int) { return raise(SIGKILL); });
  test.reap();
  BOOST_TEST(test.refusal.value() == "the test ended the process that tried: it was killed by SIGKILL");
}

BOOST_AUTO_TEST_CASE(five_minutes_are_too_long) {
  Checking test;
  test.begin(wait_for_ever);
  const SteadyTime now = steady_now(), deadline = test.children.next_deadline().value();
  BOOST_TEST((deadline > now + 4min));
  BOOST_TEST((deadline <= now + 5min));
  test.children.kill_overdue(deadline);
  test.reap();
  BOOST_TEST(test.refusal.value() == "the test took too long");
}

BOOST_AUTO_TEST_CASE(one_that_is_abandoned_is_killed_and_says_nothing_and_another_may_begin_at_once) {
  Checking test;
  test.begin(wait_for_ever);
  test.check.abandon();
  test.begin([](int) { return EX_OK; });
  test.reap();
  test.reap();
  BOOST_TEST(test.refusal.value() == "");
}
