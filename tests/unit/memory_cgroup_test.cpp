#include "supervisor/workers/end/memory_cgroup.hpp"

#include <signal.h>
#include <sys/wait.h>
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

// A cgroup hierarchy of plain files.  The files that the kernel would make in a new cgroup are put there beforehand.
struct FakeCgroups {
  TemporaryDirectory directory;
  fs::path base = fs::path(directory.path()) / "system.slice/brood.service";
  CgroupPlaces places{.root = directory.path(), .membership = directory / "membership"};
  Config config;

  FakeCgroups() {
    config.worker.memory_limit_bytes = 64 << 20;
    put(places.membership, "4:memory:/elsewhere\n0::/system.slice/brood.service\n");
    put(base / "cgroup.controllers", "cpu memory pids\n");
    put(base / "cgroup.subtree_control");
    put(base / "cgroup.procs", std::to_string(getpid()) + "\n");
    put(base / "memory.max", "max\n");
    put(base / "supervisor/cgroup.procs");
  }

  fs::path leaf(int slot) const { return base / ("worker-" + std::to_string(slot)); }
  void kernel_makes(int slot) {
    for (const char* file : {"memory.max", "memory.swap.max", "memory.oom.group", "cgroup.procs", "cgroup.kill"})
      put(leaf(slot) / file);
    count(slot, 0, 0);
  }
  void count(int slot, int oom_kill, int oom) {
    const std::string kills = std::to_string(oom_kill), ooms = std::to_string(oom);
    put(leaf(slot) / "memory.events",
        "low 0\nhigh 0\nmax 9\noom 7\noom_kill " + kills + "\noom_group_kill " + kills + "\n");
    put(leaf(slot) / "memory.events.local",
        "low 0\nhigh 0\nmax 5\noom " + ooms + "\noom_kill " + kills + "\noom_group_kill 0\n");
  }
  std::optional<MemoryCgroup> create() const { return MemoryCgroup::create(config, places); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_supervisor_with_a_delegated_cgroup_moves_into_a_leaf_of_its_own) {
  const FakeCgroups cgroups;
  BOOST_TEST(cgroups.create().has_value());
  BOOST_TEST(text_of_file(cgroups.base / "supervisor/cgroup.procs") == "0");
  BOOST_TEST(text_of_file(cgroups.base / "cgroup.subtree_control") == "+memory");
}

BOOST_AUTO_TEST_CASE(without_a_memory_limit_nothing_is_touched) {
  FakeCgroups cgroups;
  cgroups.config.worker.memory_limit_bytes = 0;
  BOOST_TEST(!cgroups.create());
  BOOST_TEST(text_of_file(cgroups.base / "cgroup.subtree_control") == "");
}

BOOST_AUTO_TEST_CASE(nothing_is_done_where_no_memory_controller_is) {
  FakeCgroups cgroups;
  put(cgroups.base / "cgroup.controllers", "cpu pids memory_pressure\n");
  BOOST_TEST(!cgroups.create());
  BOOST_TEST(text_of_file(cgroups.base / "supervisor/cgroup.procs") == "");
}

BOOST_AUTO_TEST_CASE(nothing_is_done_in_the_root_cgroup_or_in_none_of_version_2) {
  FakeCgroups cgroups;
  fs::remove(cgroups.base / "memory.max");
  BOOST_TEST(!cgroups.create());
  FakeCgroups others;
  put(others.places.membership, "4:memory:/system.slice/brood.service\n");
  BOOST_TEST(!others.create());
  fs::remove(others.places.membership);
  BOOST_TEST(!others.create());
}

BOOST_AUTO_TEST_CASE(nothing_is_done_in_a_cgroup_that_others_live_in) {
  FakeCgroups cgroups;
  put(cgroups.base / "cgroup.procs", std::to_string(getpid()) + "\n1\n");
  BOOST_TEST(!cgroups.create());
  BOOST_TEST(text_of_file(cgroups.base / "supervisor/cgroup.procs") == "");
}

BOOST_AUTO_TEST_CASE(children_of_a_supervisor_that_needed_no_cgroup_before_move_with_it) {
  FakeCgroups cgroups;
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  put(cgroups.base / "cgroup.procs", std::to_string(getpid()) + "\n" + std::to_string(child) + "\n");
  BOOST_TEST(cgroups.create().has_value());
  BOOST_TEST(text_of_file(cgroups.base / "supervisor/cgroup.procs") == std::to_string(child));
  BOOST_TEST(text_of_file(cgroups.base / "cgroup.subtree_control") == "+memory");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

BOOST_AUTO_TEST_CASE(a_later_configuration_whose_jobs_have_cgroups_gets_their_controllers) {
  FakeCgroups cgroups;
  const std::optional<MemoryCgroup> group = cgroups.create();
  put(cgroups.base / "cgroup.subtree_control");
  group->follow(cgroups.config);
  BOOST_TEST(text_of_file(cgroups.base / "cgroup.subtree_control") == "");
  cgroups.config.classes["Convert"].sandbox.emplace().cpu = 1;
  group->follow(cgroups.config);
  BOOST_TEST(text_of_file(cgroups.base / "cgroup.subtree_control").ends_with("+pids"));
}

BOOST_AUTO_TEST_CASE(a_supervisor_goes_back_where_the_kernel_refuses_the_controller) {
  FakeCgroups cgroups;
  put(cgroups.base / "cgroup.procs");
  fs::remove(cgroups.base / "cgroup.subtree_control");
  fs::create_symlink("/dev/full", cgroups.base / "cgroup.subtree_control");
  BOOST_TEST(!cgroups.create());
  BOOST_TEST(text_of_file(cgroups.base / "cgroup.procs") == "0");
}

BOOST_AUTO_TEST_CASE(a_cgroup_that_cannot_be_written_is_not_delegated) {
  if (geteuid() == 0) {
    BOOST_TEST_MESSAGE("skipped: root may write everywhere");
    return;
  }
  FakeCgroups cgroups;
  fs::permissions(cgroups.base / "cgroup.subtree_control", fs::perms::owner_read);
  BOOST_TEST(!cgroups.create());
}

BOOST_AUTO_TEST_CASE(after_an_upgrade_in_place_the_same_cgroup_is_found) {
  FakeCgroups cgroups;
  put(cgroups.places.membership, "0::/system.slice/brood.service/supervisor\n");
  put(cgroups.base / "cgroup.subtree_control", "memory\n");
  put(cgroups.base / "cgroup.procs");
  cgroups.kernel_makes(3);
  cgroups.count(3, 2, 2);

  std::optional<MemoryCgroup> group = cgroups.create();

  BOOST_TEST_REQUIRE(group.has_value());
  BOOST_TEST(!fs::exists(cgroups.base / "supervisor/supervisor"));
  BOOST_TEST((group->take_events(3) == MemoryEvents{}));  // those were counted before
}

BOOST_AUTO_TEST_CASE(a_worker_enters_a_leaf_with_the_limit) {
  FakeCgroups cgroups;
  const std::optional<MemoryCgroup> group = cgroups.create();
  cgroups.kernel_makes(2);

  group->enter(2, 64 << 20);

  BOOST_TEST(text_of_file(cgroups.leaf(2) / "memory.max") == "67108864");
  BOOST_TEST(text_of_file(cgroups.leaf(2) / "memory.swap.max") == "0");
  BOOST_TEST(text_of_file(cgroups.leaf(2) / "memory.oom.group") == "1");
  BOOST_TEST(text_of_file(cgroups.leaf(2) / "cgroup.procs") == "0");
  BOOST_CHECK_THROW(group->enter(5, 0), std::system_error);  // a plain directory gets no files from the kernel
}

BOOST_AUTO_TEST_CASE(a_kernel_without_swap_accounting_limits_memory_all_the_same) {
  FakeCgroups cgroups;
  const std::optional<MemoryCgroup> group = cgroups.create();
  cgroups.kernel_makes(0);
  fs::remove(cgroups.leaf(0) / "memory.swap.max");
  group->enter(0, 0);
  BOOST_TEST(text_of_file(cgroups.leaf(0) / "cgroup.procs") == "0");
}

BOOST_AUTO_TEST_CASE(each_worker_is_told_only_what_its_leaf_counted_in_its_own_time) {
  FakeCgroups cgroups;
  std::optional<MemoryCgroup> group = cgroups.create();
  BOOST_TEST((group->take_events(1) == MemoryEvents{}));  // it has no leaf yet
  cgroups.kernel_makes(1);
  cgroups.count(1, 1, 1);
  BOOST_TEST((group->take_events(1) == MemoryEvents{.oom_kill = 1, .oom_group_kill = 1, .max = 5, .oom = 1}));
  group->clear(1);  // does not empty it: these are plain files
  cgroups.count(1, 2, 1);
  BOOST_TEST((group->take_events(1) == MemoryEvents{.oom_kill = 1, .oom_group_kill = 1, .max = 0, .oom = 0}));
}

BOOST_AUTO_TEST_CASE(clearing_kills_what_is_left_and_removes_an_empty_leaf) {
  FakeCgroups cgroups;
  std::optional<MemoryCgroup> group = cgroups.create();
  cgroups.kernel_makes(1);
  group->clear(1);
  BOOST_TEST(text_of_file(cgroups.leaf(1) / "cgroup.kill") == "1");
  BOOST_TEST(fs::exists(cgroups.leaf(1)));

  fs::create_directory(cgroups.leaf(4));
  group->clear(4);
  BOOST_TEST(!fs::exists(cgroups.leaf(4)));
  group->clear(4);  // there is none
}
