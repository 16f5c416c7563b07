#include "worker/guard/job_meter.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <vector>

#include "shared/base/check.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

void spin(std::chrono::milliseconds cpu) {
  const std::clock_t end = std::clock() + cpu.count() * CLOCKS_PER_SEC / 1000;
  while (std::clock() < end) {
  }
}

void touch_megabytes(std::size_t megabytes) {
  std::vector<char> block(megabytes << 20, 'x');
  asm volatile("" : : "r"(block.data()) : "memory");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_is_charged_with_its_own_cpu_time_alone) {
  JobMeter meter;
  spin(60ms);  // what the worker does between jobs
  meter.begin();
  BOOST_TEST((meter.cpu_before() >= 60ms));
  spin(100ms);
  const JobUsage usage = meter.end();
  BOOST_TEST((usage.cpu >= 95ms));
  BOOST_TEST((usage.cpu < 150ms));
  BOOST_TEST((usage.wall >= 95ms));

  meter.begin();
  BOOST_TEST((meter.end().cpu < 20ms));
}

BOOST_AUTO_TEST_CASE(children_that_a_job_waits_for_are_its_own) {
  const auto child_that_spins = [] {
    const pid_t child = check("fork", fork());
    if (child == 0) {
      spin(100ms);
      _exit(0);
    }
    check("waitpid", waitpid(child, nullptr, 0));
  };
  JobMeter meter;
  meter.begin();
  child_that_spins();
  BOOST_TEST((meter.end().cpu >= 95ms));

  child_that_spins();  // reaped between two jobs
  meter.begin();
  BOOST_TEST((meter.end().cpu < 50ms));
}

BOOST_AUTO_TEST_CASE(a_small_job_after_a_large_one_is_small) {
  JobMeter meter;
  meter.begin();
  touch_megabytes(1);
  const std::uint64_t before = meter.end().peak_rss_kb;

  meter.begin();
  touch_megabytes(100);
  const std::uint64_t large = meter.end().peak_rss_kb;
  BOOST_TEST(large >= before + 90 * 1024);

  meter.begin();
  touch_megabytes(1);
  const std::uint64_t small = meter.end().peak_rss_kb;
#ifdef __SANITIZE_ADDRESS__
  BOOST_TEST_MESSAGE("skipped: AddressSanitizer keeps what is freed, " << small << " kB");
#else
  BOOST_TEST(small < before + 30 * 1024);
#endif
}
