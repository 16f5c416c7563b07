#include "supervisor/schedule/poll_interval.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr double almost_one = 1.0 - 0x1p-53;

double seconds(std::chrono::nanoseconds t) { return std::chrono::duration<double>(t).count(); }

PollSettings fixed(std::chrono::nanoseconds average) { return {.fixed_average = average}; }

// The settings that a vector names; those that it does not name are Sidekiq's own.
PollSettings settings_of(const test::VectorValue& input) {
  const auto interval = [&](const char* key) {
    return std::chrono::nanoseconds(std::llround(input[key].number() * 1e9));
  };
  PollSettings settings;
  if (input.has("average_scheduled_poll_interval"))
    settings.average_scheduled = interval("average_scheduled_poll_interval");
  if (input.has("poll_interval_average")) settings.fixed_average = interval("poll_interval_average");
  return settings;
}

void check_range(const PollSettings& settings, int processes, double least, double most) {
  BOOST_TEST(seconds(poll_pause(settings, processes, 0)) == least, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(seconds(poll_pause(settings, processes, almost_one)) == most, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(seconds(poll_pause(settings, processes, 0.5)) == (least + most) / 2, boost::test_tools::tolerance(1e-6));
}

}  // namespace

BOOST_AUTO_TEST_CASE(due_jobs_are_left_to_ruby_for_longer_than_its_longest_pause) {
  for (const int few : {0, 1, 4}) BOOST_TEST(seconds(left_to_ruby_for(few)) == 60);
  BOOST_TEST(seconds(left_to_ruby_for(10)) == 150);
  for (const int processes : {1, 9, 10, 40, 1000})
    BOOST_TEST(seconds(left_to_ruby_for(processes)) > seconds(poll_pause({}, processes, almost_one)));
}

BOOST_AUTO_TEST_CASE(intervals_and_pauses_are_those_of_the_vectors) {
  for (const test::Vector& vector : test::vectors("poll-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      const PollSettings settings = settings_of(vector.input);
      const int processes = static_cast<int>(vector.input["processes"].number());
      if (vector.expect.has("counted_as")) {
        const int counted_as = static_cast<int>(vector.expect["counted_as"].number());
        BOOST_TEST(seconds(mean_poll_interval(settings, processes)) ==
                   seconds(mean_poll_interval(settings, counted_as)));
        check_range(settings, processes, seconds(poll_pause(settings, counted_as, 0)),
                    seconds(poll_pause(settings, counted_as, almost_one)));
        continue;
      }
      BOOST_TEST(seconds(mean_poll_interval(settings, processes)) == vector.expect["interval"].number());
      // From ten processes on the releases differ; ours is the newer range.
      const test::VectorValue& range = vector.expect[vector.expect.has("sleep_s") ? "sleep_s" : "sleep_s_from_8.0.10"];
      check_range(settings, processes, range["min"].number(), range["max"].number());
    }
  }
}

BOOST_AUTO_TEST_CASE(no_process_counts_as_one) { check_range({}, 0, 2.5, 7.5); }

BOOST_AUTO_TEST_CASE(the_setting_scales_every_pause) { check_range({.average_scheduled = 200ms}, 1, 0.1, 0.3); }

// It lets a fleet register first; it is short when the number of processes does not matter.
BOOST_AUTO_TEST_CASE(the_first_wait_is_that_of_the_vectors) {
  for (const test::Vector& vector : test::vectors("initial-wait")) {
    BOOST_TEST_CONTEXT(vector.id) {
      const PollSettings settings = settings_of(vector.input);
      const test::VectorValue& range = vector.expect["wait_s"];
      BOOST_TEST(seconds(initial_wait(settings, 0)) == range["min"].number());
      BOOST_TEST(seconds(initial_wait(settings, almost_one)) == range["max"].number(),
                 boost::test_tools::tolerance(1e-6));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_fixed_average_ignores_the_number_of_processes) {
  BOOST_TEST(seconds(mean_poll_interval(fixed(15s), 100)) == 15);
}
