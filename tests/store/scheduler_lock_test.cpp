#include "shared/store/sets/scheduler_lock.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/redis/connection.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Lock {
  RedisServer redis;
  Connection connection{redis.address()};

  SchedulerLock take(std::string_view identity, std::chrono::milliseconds lifetime) {
    return read_scheduler_lock(connection.pipeline(take_scheduler_lock(identity, lifetime)).back().view(), identity);
  }
  std::int64_t left_ms() { return redis.integer({"PTTL", "brood:scheduler"}); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(only_one_has_the_lock, Lock) {
  BOOST_CHECK(take("here", 60s) == SchedulerLock::ours);
  BOOST_CHECK(take("there", 60s) == SchedulerLock::of_another);
  connection.call(end_scheduler_lock());
  BOOST_CHECK(take("there", 60s) == SchedulerLock::ours);
}

BOOST_FIXTURE_TEST_CASE(its_holder_lets_it_live_on, Lock) {
  take("here", 60s);
  connection.call(keep_scheduler_lock("here", 600s));
  BOOST_TEST(left_ms() > 60'000);
}

BOOST_FIXTURE_TEST_CASE(anothers_lock_does_not_live_longer_for_us, Lock) {
  take("there", 60s);
  connection.call(keep_scheduler_lock("here", 600s));
  BOOST_TEST(left_ms() <= 60'000);
}

BOOST_FIXTURE_TEST_CASE(a_lock_that_has_expired_stays_so, Lock) {
  connection.call(keep_scheduler_lock("here", 600s));
  BOOST_CHECK(redis.get("brood:scheduler") == std::nullopt);
}

BOOST_FIXTURE_TEST_CASE(a_key_of_another_type_is_no_lock_and_stays_as_it_is, Lock) {
  redis.command({"LPUSH", "brood:scheduler", "a list"});
  BOOST_CHECK(take("here", 60s) == SchedulerLock::none);
  BOOST_TEST(connection.call(keep_scheduler_lock("here", 600s)).view().is_error());
  BOOST_TEST(left_ms() == -1);
}
