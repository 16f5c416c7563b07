#include "supervisor/process/strays.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/base/process_stat.hpp"
#include "supervisor/process/stopped_children.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

pid_t fork_to(void (*body)()) {
  const pid_t child = check("fork", fork());
  if (child == 0) {
    body();
    _exit(0);
  }
  return child;
}

void wait_for_signals() {
  for (;;) pause();
}

// Leaves `count` processes behind, each in a session of its own and with a child of its own.
void leave_daemons(int count) {
  const pid_t worker = check("fork", fork());
  if (worker == 0) {
    for (int i = 0; i < count; ++i) {
      if (fork() != 0) continue;
      setsid();
      fork();
      wait_for_signals();
    }
    _exit(0);
  }
  waitpid(worker, nullptr, 0);
}

struct Subreaper {
  Subreaper() { check("prctl", prctl(PR_SET_CHILD_SUBREAPER, 1)); }
  ~Subreaper() {
    for (const pid_t child : own_children(1000)) kill(child, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }
};

std::string log_of(const TemporaryDirectory& directory) {
  std::ifstream file(directory / "log");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Looks as the supervisor's loop does.
bool look_until_none_is_left(Strays& strays) {
  return eventually([&] {
    strays.look(steady_now());
    return !strays.next_look();
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(daemons_and_their_children_are_killed_and_our_own_children_are_not) {
  const Subreaper subreaper;
  const TemporaryDirectory directory;
  log::open({.file = directory / "log"});
  const pid_t foreign = fork_to(wait_for_signals);
  std::set<pid_t> ours;
  EventLoop loop;
  Strays strays(loop, [&](pid_t pid) { return ours.contains(pid); });
  ours.insert(fork_to(wait_for_signals));
  leave_daemons(20);
  BOOST_REQUIRE(own_children(1000).size() == 22u);
  BOOST_TEST(!strays.next_look().has_value());

  strays.look_soon();

  BOOST_TEST(look_until_none_is_left(strays));
  std::vector<pid_t> left = own_children(1000);
  std::sort(left.begin(), left.end());
  const std::vector<pid_t> expected = {foreign, *ours.begin()};
  BOOST_TEST(left == expected, boost::test_tools::per_element());
  const std::string log = log_of(directory);
  BOOST_TEST(std::count(log.begin(), log.end(), '\n') == 1, log);
  const std::size_t at = log.find("event=strays_killed count=");
  BOOST_REQUIRE(at != log.npos);
  BOOST_TEST(std::stoi(log.substr(log.find('=', log.find("count", at)) + 1)) >= 20, log);
}

BOOST_AUTO_TEST_CASE(one_look_kills_a_bounded_number) {
  const Subreaper subreaper;
  EventLoop loop;
  Strays strays(loop, [](pid_t) { return false; });
  for (int i = 0; i < 300; ++i) fork_to(wait_for_signals);
  strays.look_soon();
  strays.look(steady_now());
  BOOST_TEST(own_children(1000).size() >= 300u - 256u);
  BOOST_TEST(strays.next_look().has_value());
  BOOST_TEST(look_until_none_is_left(strays));
  BOOST_TEST(own_children(1000).empty());
}

BOOST_AUTO_TEST_CASE(no_stray_is_looked_for_when_there_are_none) {
  const TemporaryDirectory directory;
  log::open({.file = directory / "log"});
  EventLoop loop;
  Strays strays(loop, [](pid_t) { return false; });
  strays.look_soon();
  strays.look(steady_now());
  BOOST_TEST(!strays.next_look().has_value());
  BOOST_TEST(log_of(directory).empty());
}

BOOST_AUTO_TEST_CASE(each_stop_of_a_child_is_told_once) {
  const Subreaper subreaper;
  const pid_t child = fork_to(wait_for_signals), ended = fork_to([] {});
  BOOST_TEST(newly_stopped_children().empty());
  for (int i = 0; i < 2; ++i) {
    kill(child, SIGSTOP);
    std::vector<pid_t> stopped;
    BOOST_TEST(eventually([&] { return !(stopped = newly_stopped_children()).empty(); }));
    BOOST_TEST(stopped == std::vector<pid_t>{child}, boost::test_tools::per_element());
    BOOST_TEST(newly_stopped_children().empty());
    kill(child, SIGCONT);
  }
  BOOST_TEST(waitpid(ended, nullptr, 0) == ended);  // its exit is still to be had
}

BOOST_AUTO_TEST_CASE(the_loop_is_woken_until_none_is_left) {
  const Subreaper subreaper;
  EventLoop loop;
  Strays strays(loop, [](pid_t) { return false; });
  leave_daemons(3);
  strays.look_soon();
  strays.look(steady_now());
  BOOST_REQUIRE(strays.next_look().has_value());
  const SteadyTime wanted = *strays.next_look();
  loop.run_once();
  BOOST_TEST((steady_now() >= wanted - 1ms));  // a loop without a timer would not have waited
  BOOST_TEST(look_until_none_is_left(strays));
}
