#include "shared/base/processors.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

// Control groups as the kernel shows them, in plain files.
struct Groups {
  TemporaryDirectory directory;

  explicit Groups(const std::string& membership) { directory.write("membership", membership); }

  void write(const std::string& group, const std::string& file, const std::string& content) {
    std::filesystem::create_directories(directory / ("cgroup" + group));
    directory.write("cgroup" + group + "/" + file, content);
  }
  int processors(int allowed) const {
    return usable_processors(allowed, {.cgroups = directory / "cgroup", .membership = directory / "membership"});
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_quota_all_allowed_processors_are_usable) {
  Groups groups("0::/a.slice\n");
  BOOST_TEST(groups.processors(6) == 6);
  groups.write("/a.slice", "cpu.max", "max 100000\n");
  BOOST_TEST(groups.processors(6) == 6);
  groups.write("/a.slice", "cpu.max", "rubbish");
  BOOST_TEST(groups.processors(6) == 6);
  BOOST_TEST(groups.processors(0) == 1);
  BOOST_TEST(usable_processors(3, {.cgroups = "/nowhere", .membership = "/nowhere"}) == 3);
}

BOOST_AUTO_TEST_CASE(a_quota_is_rounded_up_and_is_at_least_one) {
  Groups groups("0::/a.slice\n");
  groups.write("/a.slice", "cpu.max", "150000 100000\n");
  BOOST_TEST(groups.processors(8) == 2);
  groups.write("/a.slice", "cpu.max", "10000 100000\n");
  BOOST_TEST(groups.processors(8) == 1);
  groups.write("/a.slice", "cpu.max", "400000 50000\n");
  BOOST_TEST(groups.processors(16) == 8);
  BOOST_TEST(groups.processors(2) == 2);
}

BOOST_AUTO_TEST_CASE(the_least_quota_of_all_groups_above_counts) {
  Groups groups("0::/a.slice/b.service/worker-1\n");
  groups.write("/a.slice", "cpu.max", "200000 100000");
  groups.write("/a.slice/b.service", "cpu.max", "400000 100000");
  BOOST_TEST(groups.processors(8) == 2);
  groups.write("/a.slice/b.service/worker-1", "cpu.max", "max 100000");
  BOOST_TEST(groups.processors(8) == 2);
}

BOOST_AUTO_TEST_CASE(in_a_container_the_topmost_group_is_its_own) {
  Groups groups("0::/\n");
  groups.write("/", "cpu.max", "300000 100000");
  BOOST_TEST(groups.processors(8) == 3);
  Groups host_name("0::/../../docker/0123\n");
  host_name.write("/", "cpu.max", "100000 100000");
  BOOST_TEST(host_name.processors(8) == 1);
}

BOOST_AUTO_TEST_CASE(control_groups_of_version_1_have_quotas_too) {
  Groups groups("5:memory:/m\n4:cpu,cpuacct:/a/b\n1:name=systemd:/s\n");
  groups.write("/cpu,cpuacct/a", "cpu.cfs_quota_us", "250000\n");
  groups.write("/cpu,cpuacct/a", "cpu.cfs_period_us", "100000\n");
  groups.write("/cpu,cpuacct/a/b", "cpu.cfs_quota_us", "-1\n");
  groups.write("/cpu,cpuacct/a/b", "cpu.cfs_period_us", "100000\n");
  BOOST_TEST(groups.processors(8) == 3);
  Groups alone("4:cpu:/docker/0123\n");
  alone.write("/cpu", "cpu.cfs_quota_us", "100000\n");
  alone.write("/cpu", "cpu.cfs_period_us", "100000\n");
  BOOST_TEST(alone.processors(8) == 1);
}
