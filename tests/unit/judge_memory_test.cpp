#include "supervisor/workers/end/judge_memory.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "shared/base/host_memory.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;
using enum MemoryVerdict;

BOOST_TEST_DONT_PRINT_LOG_VALUE(MemoryVerdict)

namespace {

constexpr std::uint64_t gigabyte = 1ULL << 30;

// A worker of four on a host of 10 GB: an equal share is 2 GB.
WorkerExit ended_by(int signal) {
  WorkerExit exit;
  exit.status = {.exited = false, .value = signal};
  exit.host_bytes = 10 * gigabyte;
  exit.workers = 4;
  return exit;
}

WorkerExit killed(bool host_oom_kill, std::uint64_t peak) {
  WorkerExit exit = ended_by(SIGKILL);
  exit.host_oom_kill = host_oom_kill;
  exit.used.ru_maxrss = static_cast<long>(peak / 1024);
  return exit;
}

WorkerExit killed_in_a_leaf(const MemoryEvents& events) {
  WorkerExit exit = killed(true, 9 * gigabyte);
  exit.leaf = events;
  return exit;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_kill_while_the_kernel_killed_none_for_memory_is_not_memory) {
  BOOST_TEST(judge_memory(killed(false, 9 * gigabyte)) == not_memory);
}

BOOST_AUTO_TEST_CASE(under_host_pressure_only_more_than_an_equal_share_is_charged) {
  BOOST_TEST(judge_memory(killed(true, 2 * gigabyte)) == host_pressure_innocent);
  BOOST_TEST(judge_memory(killed(true, 2 * gigabyte + 1024)) == host_pressure_guilty);
}

BOOST_AUTO_TEST_CASE(an_unknown_host_charges_no_job) {
  WorkerExit exit = killed(true, 9 * gigabyte);
  exit.host_bytes = 0;
  BOOST_TEST(judge_memory(exit) == host_pressure_innocent);
}

BOOST_AUTO_TEST_CASE(a_leaf_that_reached_its_limit_is_guilty) {
  BOOST_TEST(judge_memory(killed_in_a_leaf({.oom_kill = 1, .oom_group_kill = 1, .max = 12, .oom = 1})) == own_limit);
}

BOOST_AUTO_TEST_CASE(a_kill_that_came_from_an_ancestor_charges_no_job) {
  BOOST_TEST(judge_memory(killed_in_a_leaf({.oom_kill = 1})) == host_pressure_innocent);
  BOOST_TEST(judge_memory(killed_in_a_leaf({.oom_kill = 1, .max = 3})) == host_pressure_innocent);
}

BOOST_AUTO_TEST_CASE(a_leaf_without_kills_is_not_memory_whatever_the_host_did) {
  BOOST_TEST(judge_memory(killed_in_a_leaf({})) == not_memory);
  BOOST_TEST(judge_memory(killed_in_a_leaf({.max = 7, .oom = 0})) == not_memory);
}

BOOST_AUTO_TEST_CASE(a_kill_by_brood_is_not_memory) {
  WorkerExit exit = killed_in_a_leaf({.oom_kill = 1, .oom = 1});
  exit.by = EndedBy::brood;
  BOOST_TEST(judge_memory(exit) == not_memory);
}

BOOST_AUTO_TEST_CASE(an_exit_is_not_memory) {
  WorkerExit exit = killed(true, 9 * gigabyte);
  exit.status = {.exited = true, .value = 137};
  BOOST_TEST(judge_memory(exit) == not_memory);
}

BOOST_AUTO_TEST_CASE(an_abort_by_an_uncaught_bad_alloc_is_memory) {
  WorkerExit exit = ended_by(SIGABRT);
  BOOST_TEST(judge_memory(exit) == not_memory);
  exit.stack.thrown_type = "St13runtime_error";
  BOOST_TEST(judge_memory(exit) == not_memory);
  exit.stack.thrown_type = "St20bad_array_new_length";  // a length that no memory could hold
  BOOST_TEST(judge_memory(exit) == not_memory);
  exit.stack.thrown_type = "St9bad_alloc";
  BOOST_TEST(judge_memory(exit) == own_limit);
}

BOOST_AUTO_TEST_CASE(a_segmentation_fault_close_below_the_limit_is_memory) {
  WorkerExit exit = ended_by(SIGSEGV);
  exit.memory_limit_bytes = 800;
  exit.stack.data_bytes = 699;
  BOOST_TEST(judge_memory(exit) == not_memory);
  exit.stack.data_bytes = 700;
  BOOST_TEST(judge_memory(exit) == own_limit);
  exit.memory_limit_bytes = 0;
  BOOST_TEST(judge_memory(exit) == not_memory);
  exit.memory_limit_bytes = ~0ULL;
  exit.stack.data_bytes = 1ULL << 40;
  BOOST_TEST(judge_memory(exit) == not_memory);
}

BOOST_AUTO_TEST_CASE(each_kill_explains_one_death) {
  OomKills kills(7);
  BOOST_TEST(!kills.take(7));
  // Two were killed before the first of them was found.
  BOOST_TEST(kills.take(9));
  BOOST_TEST(kills.take(9));
  BOOST_TEST(!kills.take(9));
  BOOST_TEST(kills.take(10));
  BOOST_TEST(!kills.take(10));
}

BOOST_AUTO_TEST_CASE(a_kill_that_explains_no_death_for_long_was_of_another_process) {
  OomKills kills(0);
  const SteadyTime start{};
  kills.forget_old(3, start);
  BOOST_TEST(kills.take(3));  // it has only just been counted: a death may be found after it
  kills.forget_old(3, start + 30s);
  BOOST_TEST(!kills.take(3));
  BOOST_TEST(kills.take(4));
  kills.forget_old(4, start + 60s);
  kills.forget_old(4, start + 90s);
  BOOST_TEST(!kills.take(4));
}

// The heartbeats of several shards come within milliseconds of each other.
BOOST_AUTO_TEST_CASE(a_kill_is_not_old_because_it_was_counted_often) {
  OomKills kills(0);
  const SteadyTime start{};
  kills.forget_old(0, start);
  for (int beat = 0; beat < 3; ++beat) kills.forget_old(1, start + 30s + beat * 1ms);
  kills.forget_old(1, start + 59s);
  BOOST_TEST(kills.take(1));
}

BOOST_AUTO_TEST_CASE(a_counter_that_falls_is_another_one_and_explains_nothing) {
  OomKills kills(100);
  BOOST_TEST(!kills.take(2));
  BOOST_TEST(kills.take(3));
  kills.forget_old(0, SteadyTime{});
  BOOST_TEST(!kills.take(3));
}

BOOST_AUTO_TEST_CASE(kills_are_counted_by_the_own_cgroup_where_that_is_known_and_by_the_host_otherwise) {
  const TemporaryDirectory directory;
  const CgroupPlaces places{.root = directory.path(), .membership = directory / "membership"};
  for (const char* cgroup : {"unit", "memory/unit"}) std::filesystem::create_directories(directory / cgroup);
  directory.write("membership", "4:memory:/unit\n1:name=systemd:/unit\n0::/unit\n");
  BOOST_TEST(host_oom_kills(places) == host_oom_kills({.root = "/nowhere", .membership = "/nowhere"}));
  directory.write("unit/memory.events", "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 1\n");
  BOOST_TEST(host_oom_kills(places) == 3u);
  directory.write("memory/unit/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  BOOST_TEST(host_oom_kills(places) == 5u);
}

BOOST_AUTO_TEST_CASE(the_host_is_known) {
  BOOST_TEST(host_memory_bytes() > 1ULL << 20);
  BOOST_TEST(host_oom_kills() < 1ULL << 40);
}

BOOST_AUTO_TEST_CASE(a_limit_of_a_cgroup_above_is_all_that_there_is) {
  const TemporaryDirectory directory;
  const CgroupPlaces places{.root = directory.path(), .membership = directory / "membership"};
  const std::string unit = "system.slice/brood.service";
  for (const char* hierarchy : {"", "memory/"}) std::filesystem::create_directories(directory / (hierarchy + unit));
  const std::uint64_t host = host_memory_bytes(places);
  BOOST_TEST(host > 1ULL << 20);

  directory.write("membership", "4:memory:/" + unit + "\n0::/" + unit + "\n");
  directory.write(unit + "/memory.max", "max\n");
  directory.write("memory/" + unit + "/memory.limit_in_bytes", "9223372036854771712\n");
  BOOST_TEST(host_memory_bytes(places) == host);
  directory.write("system.slice/memory.max", "900000\n");
  BOOST_TEST(host_memory_bytes(places) == 900'000u);
  directory.write(unit + "/memory.max", "800000\n");
  BOOST_TEST(host_memory_bytes(places) == 800'000u);
  directory.write("memory/memory.limit_in_bytes", "700000\n");  // the root, as a container sees it
  BOOST_TEST(host_memory_bytes(places) == 700'000u);
}
