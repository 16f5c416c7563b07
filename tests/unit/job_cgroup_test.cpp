#include "worker/sandbox/job_cgroup.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "tests/support/file_text.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& file, const std::string& text = "") {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

// A hierarchy of plain files, with what the kernel would make in a new group.
struct PlainGroups {
  TemporaryDirectory directory;
  fs::path root = directory.path();
  CgroupPlaces places{.root = root, .membership = directory / "membership"};

  explicit PlainGroups(const std::string& membership) { put(places.membership, membership); }
  JobCgroup of_slot_3() const { return JobCgroup(3, 77, places); }
};

const SandboxSettings two_processors_and_eight{.cpu = 2, .processes = 8};

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_has_a_group_beside_its_workers) {
  PlainGroups groups("0::/system.slice/brood.service/worker-3\n");
  const fs::path base = groups.root / "system.slice/brood.service", group = base / "job-3";
  put(base / "cgroup.subtree_control", "memory cpu pids\n");
  for (const char* file : {"pids.max", "cpu.max", "memory.max", "cgroup.procs"}) put(group / file);
  const JobCgroup cgroup = groups.of_slot_3();
  BOOST_TEST(cgroup.lacks(two_processors_and_eight).empty());

  cgroup.enter(two_processors_and_eight);
  BOOST_TEST(text_of_file(group / "pids.max") == "8");
  BOOST_TEST(text_of_file(group / "cpu.max") == "200000 100000");
  BOOST_TEST(text_of_file(group / "cgroup.procs") == "0");

  // The next job there is of a class with another limit.
  for (const char* file : {"pids.max", "cpu.max"}) put(group / file);
  cgroup.enter({.cpu = 0.5});
  BOOST_TEST(text_of_file(group / "pids.max") == "max");
  BOOST_TEST(text_of_file(group / "memory.max") == "max");
  BOOST_TEST(text_of_file(group / "cpu.max") == "50000 100000");
}

BOOST_AUTO_TEST_CASE(where_no_group_was_delegated_it_is_said) {
  for (const char* membership : {"0::/user.slice\n", "0::/\n", "", "12:freezer:/\n"}) {
    PlainGroups groups(membership);
    put(groups.root / "user.slice/cgroup.subtree_control", "cpu pids\n");
    const std::vector<std::string> lacks = groups.of_slot_3().lacks(two_processors_and_eight);
    BOOST_REQUIRE(lacks.size() == 2u);
    BOOST_TEST(lacks[0] == "a cgroup with the controller cpu, for cpu");
    BOOST_TEST(lacks[1] == "a cgroup with the controller pids, for processes");
    BOOST_TEST(groups.of_slot_3().lacks({}).empty());
    groups.of_slot_3().enter(two_processors_and_eight);  // does nothing
  }
}

BOOST_AUTO_TEST_CASE(a_controller_that_is_not_shared_out_is_missed_alone) {
  PlainGroups groups("0::/brood/worker-3\n");
  put(groups.root / "brood/cgroup.subtree_control", "memory pids\n");
  const std::vector<std::string> lacks = groups.of_slot_3().lacks(two_processors_and_eight);
  BOOST_REQUIRE(lacks.size() == 1u);
  BOOST_TEST(lacks[0] == "a cgroup with the controller cpu, for cpu");
}

BOOST_AUTO_TEST_CASE(groups_of_version_1_are_apart_for_each_controller) {
  PlainGroups groups("8:pids:/\n4:cpu,cpuacct:/jobs\n0::/\n");
  const fs::path pids = groups.root / "pids/brood-77-job-3", cpu = groups.root / "cpu/jobs/brood-77-job-3";
  for (const char* file : {"pids.max", "cgroup.procs"}) put(pids / file);
  for (const char* file : {"cpu.cfs_period_us", "cpu.cfs_quota_us", "cgroup.procs"}) put(cpu / file);
  const JobCgroup cgroup = groups.of_slot_3();
  BOOST_TEST(cgroup.lacks(two_processors_and_eight).empty());
  cgroup.enter(two_processors_and_eight);
  BOOST_TEST(text_of_file(pids / "pids.max") == "8");
  BOOST_TEST(text_of_file(cpu / "cpu.cfs_quota_us") == "200000");
  BOOST_TEST(text_of_file(cpu / "cpu.cfs_period_us") == "100000");
  BOOST_TEST((text_of_file(pids / "cgroup.procs") == "0" && text_of_file(cpu / "cgroup.procs") == "0"));
}

BOOST_AUTO_TEST_CASE(memory_is_limited_with_room_to_say_so_and_kills_are_counted) {
  constexpr std::uint64_t megabyte = 1 << 20;
  {
    PlainGroups groups("0::/brood/worker-3\n");
    const fs::path group = groups.root / "brood/job-3";
    put(groups.root / "brood/cgroup.subtree_control", "memory\n");
    for (const char* file : {"memory.max", "memory.swap.max", "cgroup.procs"}) put(group / file);
    put(group / "memory.events", "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 0\n");
    const JobCgroup cgroup = groups.of_slot_3();
    BOOST_TEST(cgroup.lacks({.memory_bytes = megabyte}).empty());
    cgroup.enter({.memory_bytes = megabyte});
    BOOST_TEST(text_of_file(group / "memory.max") == "68157440");
    BOOST_TEST(text_of_file(group / "memory.swap.max") == "0");
    BOOST_TEST(text_of_file(group / "cgroup.procs") == "0");
    BOOST_TEST(cgroup.memory_counts().kills == 2u);
    BOOST_TEST(cgroup.memory_counts().at_limit == 3u);
    // Since Linux 5.2 those of the cgroup itself are apart: of a limit above it, it counts none.
    put(group / "memory.events.local", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 2\n");
    BOOST_TEST(cgroup.memory_counts().at_limit == 0u);
  }
  PlainGroups groups("4:memory:/jobs\n0::/\n");
  const fs::path group = groups.root / "memory/jobs/brood-77-job-3";
  for (const char* file : {"memory.limit_in_bytes", "cgroup.procs"}) put(group / file);
  put(group / "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  groups.of_slot_3().enter({.memory_bytes = megabyte});
  BOOST_TEST(text_of_file(group / "memory.limit_in_bytes") == "68157440");
  put(group / "memory.failcnt", "8\n");
  BOOST_TEST(groups.of_slot_3().memory_counts().kills == 5u);
  BOOST_TEST(groups.of_slot_3().memory_counts().at_limit == 8u);

  const PlainGroups none("0::/\n");
  const std::vector<std::string> lacks = none.of_slot_3().lacks({.memory_bytes = megabyte});
  BOOST_TEST_REQUIRE(lacks.size() == 1u);
  BOOST_TEST(lacks[0] == "a cgroup with the controller memory, for the memory of all processes of a job together");
  BOOST_TEST(none.of_slot_3().memory_counts().kills == 0u);
}

BOOST_AUTO_TEST_CASE(a_group_that_refuses_its_limit_is_not_entered) {
  PlainGroups groups("0::/brood/worker-3\n");
  put(groups.root / "brood/cgroup.subtree_control", "pids\n");
  put(groups.root / "brood/job-3/cgroup.procs");  // and no pids.max
  BOOST_CHECK_THROW(groups.of_slot_3().enter(two_processors_and_eight), std::system_error);
  BOOST_TEST(text_of_file(groups.root / "brood/job-3/cgroup.procs").empty());
}
