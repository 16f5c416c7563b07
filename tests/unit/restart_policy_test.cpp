#define BOOST_TEST_MODULE restart_policy
#include <boost/test/unit_test.hpp>

#include <vector>

#include "supervisor/restart_policy.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

auto failed_start(RestartPolicy& policy) { return policy.rest_after(5ms, false, false).count(); }

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

BOOST_AUTO_TEST_CASE(a_worker_that_began_a_job_delays_nobody) {
  RestartPolicy policy;
  BOOST_TEST(policy.rest_after(1ms, true, false).count() == 0);
  BOOST_TEST(policy.failed_starts() == 0);
}

BOOST_AUTO_TEST_CASE(a_worker_that_lived_a_second_delays_nobody) {
  RestartPolicy policy;
  BOOST_TEST(policy.rest_after(999'999'999ns, false, false).count() == 100);
  BOOST_TEST(policy.rest_after(1s, false, false).count() == 0);
}

BOOST_AUTO_TEST_CASE(a_worker_that_ended_in_order_delays_nobody) {
  RestartPolicy policy;
  BOOST_TEST(policy.rest_after(0ms, false, true).count() == 0);
}

BOOST_AUTO_TEST_CASE(one_good_worker_makes_the_next_rest_the_shortest_again) {
  const struct {
    std::chrono::nanoseconds uptime;
    bool began_a_job, ended_in_order;
  } good_ones[] = {{5ms, true, false}, {2s, false, false}, {5ms, false, true}};
  for (const auto& good : good_ones) {
    RestartPolicy policy;
    for (int i = 0; i < 5; ++i) failed_start(policy);
    policy.rest_after(good.uptime, good.began_a_job, good.ended_in_order);
    BOOST_TEST(policy.failed_starts() == 0);
    BOOST_TEST(failed_start(policy) == 100);
  }
}

BOOST_AUTO_TEST_CASE(a_failed_fork_counts_as_a_failed_start) {
  RestartPolicy policy;
  BOOST_TEST(policy.rest_after_failed_fork().count() == 100);
  BOOST_TEST(failed_start(policy) == 200);
  BOOST_TEST(policy.rest_after_failed_fork().count() == 400);
}
