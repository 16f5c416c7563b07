#define BOOST_TEST_MODULE poll_interval
#include "supervisor/poll_interval.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr double almost_one = 1.0 - 0x1p-53;

double seconds(std::chrono::nanoseconds t) { return std::chrono::duration<double>(t).count(); }

PollSettings fixed(std::chrono::nanoseconds average) { return {.fixed_average = average}; }

void check_range(const PollSettings& settings, int processes, double least, double most) {
  BOOST_TEST(seconds(poll_pause(settings, processes, 0)) == least, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(seconds(poll_pause(settings, processes, almost_one)) == most, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(seconds(poll_pause(settings, processes, 0.5)) == (least + most) / 2, boost::test_tools::tolerance(1e-6));
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_process_pauses_half_to_one_and_a_half_of_the_interval) {
  BOOST_TEST(seconds(mean_poll_interval({}, 1)) == 5);
  check_range({}, 1, 2.5, 7.5);
}

BOOST_AUTO_TEST_CASE(the_interval_grows_with_the_number_of_processes) {
  BOOST_TEST(seconds(mean_poll_interval({}, 2)) == 10);
  check_range({}, 2, 5, 15);
  BOOST_TEST(seconds(mean_poll_interval({}, 9)) == 45);
  check_range({}, 9, 22.5, 67.5);
}

BOOST_AUTO_TEST_CASE(from_ten_processes_on_the_pause_is_anything_up_to_twice_the_interval) {
  BOOST_TEST(seconds(mean_poll_interval({}, 10)) == 50);
  check_range({}, 10, 0, 100);
}

BOOST_AUTO_TEST_CASE(no_process_counts_as_one) {
  BOOST_TEST(seconds(mean_poll_interval({}, 0)) == 5);
  check_range({}, 0, 2.5, 7.5);
}

BOOST_AUTO_TEST_CASE(a_fixed_average_ignores_the_number_of_processes) {
  BOOST_TEST(seconds(mean_poll_interval(fixed(15s), 3)) == 15);
  check_range(fixed(15s), 3, 7.5, 22.5);
}

BOOST_AUTO_TEST_CASE(the_setting_scales_every_pause) { check_range({.average_scheduled = 200ms}, 1, 0.1, 0.3); }

BOOST_AUTO_TEST_CASE(the_first_wait_lets_a_fleet_register) {
  BOOST_TEST(seconds(initial_wait({}, 0)) == 10);
  BOOST_TEST(seconds(initial_wait({}, almost_one)) == 15, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(the_first_wait_is_short_when_the_number_of_processes_does_not_matter) {
  BOOST_TEST(seconds(initial_wait(fixed(15s), 0)) == 0);
  BOOST_TEST(seconds(initial_wait(fixed(15s), almost_one)) == 5, boost::test_tools::tolerance(1e-6));
}
