#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

#include "supervisor/pressure/fetch_allowance.hpp"
#include "supervisor/pressure/memory_figures.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

using Allowed = std::optional<int>;

// Eight workers, and a clock that goes a second further with every look.
struct Host {
  FetchAllowance allowance;
  SteadyTime now{12h};
  int workers = 8;

  explicit Host(int limit = 10) { allowance.set_limit(limit); }
  Allowed look(const PressureReading& reading) {
    now += 1s;
    return allowance.allowed(reading, workers, now);
  }
  Allowed looks(int seconds, double stalled) {
    Allowed allowed;
    for (int i = 0; i < seconds; ++i) allowed = look({.stalled = stalled});
    return allowed;
  }
};

// /proc and /sys of plain files.
struct FakeKernel {
  TemporaryDirectory directory;
  const std::filesystem::path root = directory.path(), group = root / "sys/system.slice/brood.service";
  const MemoryFigures::Places places{.proc = root / "proc",
                                     .cgroups = {.root = root / "sys", .membership = root / "proc/self/cgroup"}};

  void put(const std::filesystem::path& file, const std::string& text) const {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void host(const std::string& full) const {
    put(root / "proc/pressure/memory",
        "some avg10=99.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=" + full + " avg60=0.00 avg300=0.00 total=3\n");
  }
  void own(const std::string& full, int high = 0, int max = 0, int oom = 0, int oom_kill = 0) const {
    put(root / "proc/self/cgroup", "4:memory:/elsewhere\n0::/system.slice/brood.service\n");
    put(group / "memory.pressure", "some avg10=99.00\nfull avg10=" + full + "\n");
    put(group / "memory.events", "low 3\nhigh " + std::to_string(high) + "\nmax " + std::to_string(max) + "\noom " +
                                     std::to_string(oom) + "\noom_kill " + std::to_string(oom_kill) +
                                     "\noom_group_kill 0\n");
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(without_pressure_all_fetch) {
  Host host;
  BOOST_TEST((host.looks(100, 4.9) == std::nullopt));
  BOOST_TEST((host.look({}) == std::nullopt));
  BOOST_TEST((host.looks(100, 9.9) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(half_of_them_fetch_when_it_begins_and_one_goes_on_whatever_comes) {
  Host host;
  BOOST_TEST((host.look({.stalled = 10}) == Allowed(4)));
  BOOST_TEST((host.looks(9, 50) == Allowed(4)));
  BOOST_TEST((host.look({.stalled = 50}) == Allowed(2)));
  BOOST_TEST((host.looks(10, 50) == Allowed(1)));
  BOOST_TEST((host.looks(100, 100) == Allowed(1)));
}

BOOST_AUTO_TEST_CASE(a_lone_worker_is_not_held_back) {
  Host host;
  host.workers = 1;
  BOOST_TEST((host.look({.stalled = 90}) == Allowed(1)));
  BOOST_TEST((host.looks(20, 0) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(between_the_two_bounds_nothing_changes) {
  Host host;
  host.looks(1, 10);
  BOOST_TEST((host.looks(600, 5) == Allowed(4)));
  BOOST_TEST((host.looks(600, 9.9) == Allowed(4)));
}

BOOST_AUTO_TEST_CASE(it_ends_step_by_step) {
  Host host;
  host.looks(11, 20);
  BOOST_TEST((host.looks(9, 0) == Allowed(2)));
  BOOST_TEST((host.look({.stalled = 0}) == Allowed(4)));
  BOOST_TEST((host.looks(9, 0) == Allowed(4)));
  BOOST_TEST((host.look({.stalled = 0}) == Allowed(6)));
  BOOST_TEST((host.looks(5, 6) == Allowed(6)));  // the ten seconds begin again
  BOOST_TEST((host.looks(9, 0) == Allowed(6)));
  BOOST_TEST((host.look({.stalled = 0}) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(pressure_that_comes_and_goes_does_not_change_it_each_second) {
  Host host;
  int changes = 0;
  Allowed last;
  for (int second = 0; second < 600; ++second) {
    const Allowed now = host.look({.stalled = second % 2 == 0 ? 12.0 : 0.0});
    changes += now != last;
    last = now;
  }
  BOOST_TEST(changes <= 3);
}

BOOST_AUTO_TEST_CASE(a_kill_is_pressure_whatever_else_is_said) {
  Host host;
  BOOST_TEST((host.look({.stalled = std::nullopt, .killed = true}) == Allowed(4)));
  BOOST_TEST((host.look({.killed = true}) == Allowed(4)));
  BOOST_TEST((host.look({.killed = true}) == Allowed(2)));
}

BOOST_AUTO_TEST_CASE(a_cgroup_at_its_limit_is_under_pressure_sooner_and_only_if_processes_wait) {
  Host host;
  BOOST_TEST((host.look({.stalled = 4.9, .at_limit = true}) == std::nullopt));
  BOOST_TEST((host.look({.stalled = 5, .at_limit = true}) == Allowed(4)));
}

BOOST_AUTO_TEST_CASE(it_can_be_switched_off) {
  Host host(0);
  BOOST_TEST((host.look({.stalled = 100, .killed = true}) == std::nullopt));
  host.allowance.set_limit(10);
  BOOST_TEST((host.look({.stalled = 100}) == Allowed(4)));
  host.allowance.set_limit(0);
  BOOST_TEST((host.look({.stalled = 100}) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(fewer_workers_than_were_allowed_are_all_of_them) {
  Host host;
  host.looks(1, 20);
  host.workers = 3;
  BOOST_TEST((host.looks(1, 0) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(the_larger_of_the_host_s_and_the_cgroup_s_share_is_read) {
  FakeKernel kernel;
  kernel.host("1.25");
  kernel.own("7.50");
  MemoryFigures figures(kernel.places);
  BOOST_TEST(figures.read().stalled.value() == 7.5);
  kernel.host("11.00");
  BOOST_TEST(figures.read().stalled.value() == 11.0);
}

BOOST_AUTO_TEST_CASE(only_new_events_count) {
  FakeKernel kernel;
  kernel.own("0.00", 5, 5, 5, 5);
  MemoryFigures figures(kernel.places);
  BOOST_TEST(!figures.read().killed);
  kernel.own("0.00", 6, 5, 5, 5);
  PressureReading reading = figures.read();
  BOOST_TEST((reading.at_limit && !reading.killed));
  kernel.own("0.00", 6, 5, 5, 6);
  reading = figures.read();
  BOOST_TEST((!reading.at_limit && reading.killed));
  kernel.own("0.00");  // another cgroup by the same name
  reading = figures.read();
  BOOST_TEST((!reading.at_limit && !reading.killed));
}

// The job's group is below ours, and the kernel counts its events with ours.
BOOST_AUTO_TEST_CASE(a_job_that_is_over_a_limit_of_its_own_says_nothing_of_the_others) {
  FakeKernel kernel;
  const auto own = [&](int max, int oom) {
    kernel.put(kernel.group / "memory.events.local",
               "low 0\nhigh 0\nmax " + std::to_string(max) + "\noom " + std::to_string(oom) + "\noom_kill 0\n");
  };
  kernel.own("0.00");
  own(0, 0);
  MemoryFigures figures(kernel.places);

  kernel.own("0.00", 3, 7, 1, 1);  // at the limit of a job
  PressureReading reading = figures.read();
  BOOST_TEST((!reading.at_limit && !reading.killed));
  kernel.own("0.00", 3, 7, 1, 2);  // one for want of the host's memory
  BOOST_TEST(figures.read().killed);
  kernel.own("0.00", 3, 8, 2, 3);  // and one at our own
  own(1, 1);
  reading = figures.read();
  BOOST_TEST((reading.at_limit && reading.killed));
}

BOOST_AUTO_TEST_CASE(beside_the_supervisor_s_leaf_lies_what_counts) {
  FakeKernel kernel;
  kernel.own("42.00");
  kernel.put(kernel.root / "proc/self/cgroup", "0::/system.slice/brood.service/supervisor\n");
  BOOST_TEST(MemoryFigures(kernel.places).read().stalled.value() == 42.0);
}

BOOST_AUTO_TEST_CASE(a_kernel_that_says_nothing_is_no_pressure) {
  FakeKernel kernel;
  MemoryFigures none(kernel.places);
  BOOST_TEST(!none.read().stalled);
  BOOST_TEST(none.sources().find("reads nothing; not there: ") == 0u);
  for (const char* text : {"", "full", "full avg10=", "full avg10=x", "full avg10=-3", "full avg10=1e999", "\n\n\n"}) {
    kernel.put(kernel.root / "proc/pressure/memory", text);
    BOOST_TEST(!MemoryFigures(kernel.places).read().stalled, text);
  }
}
