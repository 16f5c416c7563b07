#include "shared/redis/connect_attempts.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Attempts {
  ConnectAttempts attempts{7};

  Attempts() { attempts.begin(); }

  // One attempt at one of so many endpoints.
  ConnectAttempts::Verdict fail(std::size_t endpoints = 1, const std::string& why = "nobody listens",
                                bool refused = false) {
    attempts.next_endpoint(endpoints);
    return attempts.failed(why, refused, std::nullopt);
  }
  ConnectAttempts::Verdict lose_after(std::chrono::nanoseconds stood) {
    attempts.next_endpoint(1);
    attempts.succeeded();
    return attempts.failed("reset by peer", false, stood);
  }
};

bool is_rest_of(std::chrono::milliseconds rest, std::chrono::milliseconds longest) {
  return longest / 2 <= rest && rest <= longest;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(it_rests_twice_as_long_after_each_failure_up_to_five_seconds, Attempts) {
  for (const auto longest : {50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms})
    BOOST_TEST(is_rest_of(fail().rest, longest));
}

BOOST_FIXTURE_TEST_CASE(a_connection_that_stood_for_a_second_lets_it_begin_anew, Attempts) {
  fail();
  fail();
  BOOST_TEST(is_rest_of(lose_after(999ms).rest, 200ms));
  BOOST_TEST(is_rest_of(lose_after(1s).rest, 50ms));
  BOOST_TEST(is_rest_of(fail().rest, 100ms));
}

BOOST_FIXTURE_TEST_CASE(each_loss_is_told_and_a_streak_of_failures_once, Attempts) {
  BOOST_TEST(fail().tells);
  BOOST_TEST(!fail().tells);
  BOOST_TEST(lose_after(0s).tells);
  BOOST_TEST(lose_after(0s).tells);
  BOOST_TEST(fail().tells);
  BOOST_TEST(!fail().tells);
  attempts.begin();
  BOOST_TEST(fail().tells);
}

BOOST_FIXTURE_TEST_CASE(a_host_has_failed_when_each_of_its_endpoints_has, Attempts) {
  for (int turn = 0; turn < 2; ++turn) {
    for (int other = 0; other < 2; ++other) {
      const auto verdict = fail(3);
      BOOST_TEST((verdict.rest == 0ms));
      BOOST_TEST(!verdict.tells);
    }
    const auto verdict = fail(3);
    BOOST_TEST(is_rest_of(verdict.rest, turn == 0 ? 50ms : 100ms));
    BOOST_TEST(verdict.tells == (turn == 0));
  }
}

BOOST_FIXTURE_TEST_CASE(the_endpoints_take_turns_and_after_a_success_the_first_comes_first, Attempts) {
  for (const std::size_t endpoint : {0U, 1U, 2U, 0U}) BOOST_TEST(attempts.next_endpoint(3) == endpoint);
  attempts.succeeded();
  BOOST_TEST(attempts.next_endpoint(3) == 0U);
  BOOST_TEST(attempts.next_endpoint(1) == 0U);  // it has fewer by now
}

BOOST_FIXTURE_TEST_CASE(the_refusal_is_the_reason_where_several_fail, Attempts) {
  fail(2, "WRONGPASS no", true);
  BOOST_TEST(attempts.refusal().empty());
  fail(2, "nobody listens");
  BOOST_TEST(attempts.refusal() == "WRONGPASS no");
  BOOST_TEST(attempts.last_failure() == "WRONGPASS no");
  fail(2);
  fail(2);
  BOOST_TEST(attempts.refusal().empty());
  BOOST_TEST(attempts.last_failure() == "nobody listens");
}
