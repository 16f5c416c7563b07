// How brood handles what an exec keeps from the program that starts it.
#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A program that does this and then becomes brood.
std::vector<std::string> after(const std::string& python) {
  return {"/usr/bin/env", "python3", "-c",
          "import os, resource, signal, sys\n" + python + "\nos.execvp(sys.argv[1], sys.argv[1:])"};
}

const std::string ignore_and_block_all = R"(
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
    try: signal.signal(number, signal.SIG_IGN)
    except OSError: pass
signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals()))";

bool logs(const BroodProcess& brood, const std::string& text) {
  return eventually([&] { return brood.log().find(text) != std::string::npos; }, 20s);
}

void stops(BroodProcess& brood) {
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
}

std::string first_scoreboard(const BroodProcess& brood) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(brood.home().path())) {
    if (entry.path().extension() == ".scoreboard") return entry.path();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_dead_worker_is_noticed_where_every_signal_was_ignored_and_blocked) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .shutdown_timeout = "5", .prefix = after(ignore_and_block_all)});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const pid_t worker = brood.workers().front();
  enqueue(redis, {payload_text("Sleep", "[600000]")});
  BOOST_REQUIRE(logs(brood, "event=job_started"));

  kill(worker, SIGKILL);

  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1u; }, 20s), brood.log_tail());
  BOOST_TEST(eventually([&] { return brood.workers().size() == 1u && brood.workers().front() != worker; }, 20s));
  enqueue(redis, {payload_text("Segfault", "[]")});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 2u; }, 20s), brood.log_tail());
  stops(brood);
}

// A command waits for its children and receives signals, too.
BOOST_AUTO_TEST_CASE(a_check_of_libraries_hears_how_its_child_ends_where_sigchld_was_ignored) {
  BroodProcess check({.workers = 1, .arguments = {"--check"}, .prefix = after(ignore_and_block_all)});
  BOOST_TEST(check.wait_exit(30s).value_or(-1) != 70, check.log_tail());
  BOOST_TEST(check.log().find("No child processes") == std::string::npos, check.log_tail());
}

BOOST_AUTO_TEST_CASE(an_inherited_alarm_ends_no_process) {
  RedisServer redis;
  const std::string timers = R"(
for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF): signal.setitimer(timer, 0.5))";
  BroodProcess brood(redis, {.workers = 1, .prefix = after(timers)});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST(!brood.wait_exit(1s).has_value(), brood.log_tail());
  stops(brood);
}

BOOST_AUTO_TEST_CASE(a_umask_that_takes_everything_leaves_the_scoreboard_to_its_owner) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .prefix = after("os.umask(0o777)")});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  struct stat about {};
  BOOST_REQUIRE(stat(first_scoreboard(brood).c_str(), &about) == 0);
  BOOST_TEST((about.st_mode & 0777) == 0600u);
  stops(brood);
}

BOOST_AUTO_TEST_CASE(a_low_limit_of_descriptors_is_raised_as_far_as_it_may_be) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 3, .prefix = after("resource.setrlimit(resource.RLIMIT_NOFILE, (20, 4096))")});
  BOOST_TEST(brood.wait_ready(), brood.log_tail());
  enqueue(redis, {payload_text("Segfault", "[]")});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1u; }, 20s), brood.log_tail());
  stops(brood);
}

BOOST_AUTO_TEST_CASE(a_huge_limit_of_descriptors_and_an_endless_stack_do_no_harm) {
  RedisServer redis;
  const std::string limits = R"(
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
resource.setrlimit(resource.RLIMIT_STACK, (resource.getrlimit(resource.RLIMIT_STACK)[1],) * 2))";
  BroodProcess brood(redis, {.workers = 1, .prefix = after(limits)});
  BOOST_TEST(brood.wait_ready(), brood.log_tail());
  stops(brood);
}

BOOST_AUTO_TEST_CASE(a_small_stack_does_no_harm) {
  RedisServer redis;
  BroodProcess brood(redis,
                     {.workers = 1, .prefix = after("resource.setrlimit(resource.RLIMIT_STACK, (131072, 67108864))")});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  rlimit stack{};
  BOOST_REQUIRE(prlimit(brood.pid(), RLIMIT_STACK, nullptr, &stack) == 0);
  BOOST_TEST(stack.rlim_cur == 8u << 20);
  stops(brood);
}

BOOST_AUTO_TEST_CASE(where_files_may_not_grow_a_start_says_so_instead_of_being_killed) {
  RedisServer redis;
  BroodProcess brood(redis,
                     {.workers = 1, .prefix = after("resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))")});
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 70, brood.log_tail());
  BOOST_TEST(brood.log().find("File too large") != std::string::npos, brood.log_tail());
  BOOST_TEST(brood.log().find("event=limit_is_inherited limit=RLIMIT_FSIZE value=65536") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_limit_of_processor_time_is_warned_of) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .prefix = after("resource.setrlimit(resource.RLIMIT_CPU, (600, 600))")});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST(logs(brood, "event=limit_is_inherited limit=RLIMIT_CPU value=600"), brood.log_tail());
  stops(brood);
}

BOOST_AUTO_TEST_CASE(without_a_working_directory_jobs_run_and_a_line_says_so) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .prefix = after(R"(
import tempfile
place = tempfile.mkdtemp()
os.chdir(place)
os.rmdir(place))")});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST(logs(brood, "event=working_directory_is_gone"), brood.log_tail());
  enqueue(redis, {payload_text("Segfault", "[]")});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1u; }, 20s), brood.log_tail());
  stops(brood);
}

// Prints nothing into the next file that is opened, and gives jobs no descriptor of the previous program.
BOOST_AUTO_TEST_CASE(closed_and_open_descriptors_of_the_program_before_reach_no_job) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .prefix = after(R"(
os.close(0)
os.close(1)
for i in range(50, 60): os.dup2(2, i))")});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const std::string descriptors = "/proc/" + std::to_string(brood.workers().front()) + "/fd/";
  for (int i = 0; i <= 2; ++i) BOOST_TEST(std::filesystem::is_symlink(descriptors + std::to_string(i)));
  for (int i = 50; i < 60; ++i) BOOST_TEST(!std::filesystem::is_symlink(descriptors + std::to_string(i)));
  stops(brood);
}
