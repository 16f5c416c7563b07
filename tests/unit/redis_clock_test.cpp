#include "shared/base/redis_clock.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

namespace {

const SteadyTime asked = steady_now() - 10s;

// Redis' clock is so far ahead of an invented one.
void note(std::chrono::nanoseconds ahead, SteadyTime from, SteadyTime until) {
  note_redis_time(WallTime(asked.time_since_epoch() + ahead), from, until);
}

// How far ahead Redis is believed to be, in milliseconds; the time passed since cancels out.
long known() {
  const SteadyTime before = steady_now();
  const auto ahead = redis_now().time_since_epoch() - before.time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(ahead + 500us).count();
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_is_this_hosts_clock_until_redis_has_told) {
  BOOST_TEST(!redis_time_is_fresh());
  const WallTime before = wall_now();
  const WallTime told = redis_now();
  BOOST_TEST((told >= before && told <= wall_now()));
}

BOOST_AUTO_TEST_CASE(first_the_middle_of_question_and_answer_is_taken) {
  note(24h, asked - 20ms, asked + 20ms);
  BOOST_TEST(redis_time_is_fresh());
  BOOST_TEST(known() == 86'400'000);
}

BOOST_AUTO_TEST_CASE(a_slow_reply_does_not_spoil_what_a_quick_one_told) {
  note(24h, asked, asked);
  note(24h, asked - 2ms, asked + 300ms);
  BOOST_TEST(known() == 86'400'000);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_any_more_is_given_up_as_far_as_it_must) {
  note(24h, asked, asked);
  note(24h + 50ms, asked, asked + 20ms);  // 30 to 50 ms more
  BOOST_TEST(known() == 86'400'030);
  note(23h, asked - 5ms, asked);
  BOOST_TEST(known() == 82'800'005);
}

BOOST_AUTO_TEST_CASE(the_time_of_another_redis_is_unknown_until_it_answers) {
  note(24h, asked, asked);
  forget_redis_time();
  BOOST_TEST(!redis_time_is_fresh());
  note(1h, asked - 20ms, asked + 20ms);
  BOOST_TEST(known() == 3'600'000);
}
