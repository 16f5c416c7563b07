#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <set>
#include <vector>

#include "shared/base/random.hpp"
#include "supervisor/workers/places/restart_policy.hpp"
#include "tests/support/in_child.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

using End = RestartPolicy::End;

auto failed_start(RestartPolicy& policy) { return policy.rest_after({.uptime = 5ms}).count(); }

// At the first job of a worker that was ready.
auto crash(RestartPolicy& policy, std::chrono::nanoseconds uptime = 5ms) {
  return policy.rest_after({.uptime = uptime, .was_ready = true, .began_a_job = true}).count();
}

}  // namespace

BOOST_AUTO_TEST_CASE(failed_starts_rest_from_100_ms_doubling_to_30_s) {
  RestartPolicy policy;
  std::vector<std::int64_t> rests;
  for (int i = 0; i < 11; ++i) rests.push_back(failed_start(policy));
  const std::vector<std::int64_t> expected = {100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};
  BOOST_TEST(rests == expected, boost::test_tools::per_element());
  BOOST_TEST(policy.failed_starts() == 11);
}

BOOST_AUTO_TEST_CASE(the_longest_rest_stays_the_longest_however_often_it_fails) {
  RestartPolicy policy;
  for (int i = 0; i < 10'000; ++i) failed_start(policy);
  BOOST_TEST(failed_start(policy) == 30'000);
}

BOOST_AUTO_TEST_CASE(a_worker_that_began_a_job_delays_no_refill) {
  RestartPolicy policy;
  BOOST_TEST(policy.rest_after({.uptime = 1ms, .was_ready = true, .began_a_job = true}).count() == 0);
  BOOST_TEST(policy.failed_starts() == 0);
}

BOOST_AUTO_TEST_CASE(a_worker_that_lived_a_second_delays_no_refill) {
  RestartPolicy policy;
  BOOST_TEST(policy.rest_after({.uptime = 999'999'999ns, .was_ready = true}).count() == 100);
  BOOST_TEST(policy.rest_after({.uptime = 1s, .was_ready = true}).count() == 0);
}

BOOST_AUTO_TEST_CASE(a_worker_that_ended_in_order_delays_no_refill) {
  RestartPolicy policy;
  BOOST_TEST(policy.rest_after({.in_order = true}).count() == 0);
}

BOOST_AUTO_TEST_CASE(one_good_worker_makes_the_next_rest_the_shortest_again) {
  const End good_ones[] = {{.uptime = 5ms, .was_ready = true, .began_a_job = true},
                           {.uptime = 2s, .was_ready = true},
                           {.uptime = 5ms, .in_order = true}};
  for (const End& good : good_ones) {
    RestartPolicy policy;
    for (int i = 0; i < 5; ++i) failed_start(policy);
    policy.rest_after(good);
    BOOST_TEST(policy.failed_starts() == 0);
    BOOST_TEST(failed_start(policy) == 100);
  }
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_never_ready_has_failed_to_start_however_long_it_took) {
  RestartPolicy policy;
  BOOST_TEST(policy.rest_after({.uptime = 5min}).count() == 100);
  BOOST_TEST(policy.rest_after({.uptime = 5min}).count() == 200);
}

BOOST_AUTO_TEST_CASE(crash_after_crash_at_the_first_job_rests_from_the_21st_on_10_ms_doubling_to_250_ms) {
  RestartPolicy policy;
  for (int i = 0; i < 20; ++i) BOOST_TEST(crash(policy) == 0);
  std::vector<std::int64_t> rests;
  for (int i = 0; i < 7; ++i) rests.push_back(crash(policy));
  const std::vector<std::int64_t> expected = {10, 20, 40, 80, 160, 250, 250};
  BOOST_TEST(rests == expected, boost::test_tools::per_element());
  for (int i = 0; i < 10'000; ++i) crash(policy);
  BOOST_TEST(crash(policy) == 250);
}

BOOST_AUTO_TEST_CASE(a_job_that_is_done_a_longer_life_and_an_end_in_order_make_crashes_free_again) {
  const End ends[] = {{.uptime = 5ms, .was_ready = true, .began_a_job = true, .did_a_job = true},
                      {.uptime = 10s, .was_ready = true, .began_a_job = true},
                      {.uptime = 5ms, .was_ready = true, .began_a_job = true, .in_order = true}};
  for (const End& end : ends) {
    RestartPolicy policy;
    for (int i = 0; i < 30; ++i) crash(policy);
    BOOST_TEST(policy.rest_after(end).count() == 0);
    for (int i = 0; i < 20; ++i) BOOST_TEST(crash(policy) == 0);
    BOOST_TEST(crash(policy) == 10);
  }
}

BOOST_AUTO_TEST_CASE(a_failed_fork_counts_as_a_failed_start) {
  RestartPolicy policy;
  BOOST_TEST(policy.rest_after_failed_fork().count() == 100);
  BOOST_TEST(failed_start(policy) == 200);
  BOOST_TEST(policy.rest_after_failed_fork().count() == 400);
}

BOOST_AUTO_TEST_CASE(a_pause_with_jitter_is_a_quarter_shorter_or_longer_at_most_and_not_always_the_same) {
  std::set<std::chrono::nanoseconds> seen;
  for (int i = 0; i < 1'000; ++i) {
    const auto pause = jittered(1s);
    BOOST_TEST((pause >= 750ms && pause <= 1250ms));
    seen.insert(pause);
  }
  BOOST_TEST(seen.size() > 900U);
  BOOST_TEST((jittered(0ms) == 0ns));
}

BOOST_AUTO_TEST_CASE(copies_of_a_process_draw_jitters_of_their_own) {
  jittered(1s);
  std::set<std::chrono::nanoseconds::rep> seen;
  for (int i = 0; i < 3; ++i) {
    int ends[2];
    BOOST_REQUIRE(pipe(ends) == 0);
    const bool told = in_child([&] {
      const auto pause = jittered(1s).count();
      return write(ends[1], &pause, sizeof pause) == sizeof pause;
    });
    BOOST_REQUIRE(told);
    std::chrono::nanoseconds::rep pause = 0;
    BOOST_REQUIRE(read(ends[0], &pause, sizeof pause) == sizeof pause);
    seen.insert(pause);
    close(ends[0]);
    close(ends[1]);
  }
  BOOST_TEST(seen.size() == 3U);
}
