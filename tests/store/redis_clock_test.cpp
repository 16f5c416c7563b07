#include "shared/base/redis_clock.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>
#include <brood/client.hpp>

#include "shared/store/redis_time.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr long a_day = 86'400;
long seconds_ahead = 0;  // of this process's clock

double redis_seconds(RedisServer& redis) { return static_cast<double>(redis.command({"TIME"}).view()[0].integer()); }

int times_asked(RedisServer& redis) {
  const std::string stats(redis.command({"INFO", "commandstats"}).view().text()), before = "cmdstat_time:calls=";
  const auto at = stats.find(before);
  return at == std::string::npos ? 0 : std::stoi(stats.substr(at + before.size()));
}

struct Sleepy {
  static constexpr std::string_view job_class = "Sleepy";
  void perform() {}
};

}  // namespace

// The clock of this program.
extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += seconds_ahead;
  return result;
}

BOOST_AUTO_TEST_CASE(the_time_is_that_of_redis_once_known_whatever_the_hosts_clock_shows) {
  RedisServer redis;
  Connection connection(redis.address());
  seconds_ahead = a_day;
  BOOST_TEST(!redis_time_is_fresh());
  BOOST_TEST(epoch_seconds(redis_now()) > redis_seconds(redis) + a_day - 60);  // there is nothing better

  ask_redis_time(connection);
  BOOST_TEST(std::abs(epoch_seconds(redis_now()) - redis_seconds(redis)) < 30);
  BOOST_TEST(redis_time_is_fresh());
  const int asked = times_asked(redis);
  ask_redis_time(connection);
  BOOST_TEST(times_asked(redis) == asked);

  // The host's clock is set.  The time goes on unchanged, and is asked for again.
  seconds_ahead = -a_day;
  BOOST_TEST(std::abs(epoch_seconds(redis_now()) - redis_seconds(redis)) < 30);
  BOOST_TEST(!redis_time_is_fresh());
  ask_redis_time(connection);
  BOOST_TEST(redis_time_is_fresh());
  BOOST_TEST(std::abs(epoch_seconds(redis_now()) - redis_seconds(redis)) < 30);
}

BOOST_AUTO_TEST_CASE(a_redis_that_is_away_or_does_not_tell_leaves_what_was_known) {
  RedisServer redis;
  Connection connection(redis.address());
  seconds_ahead = 0;
  ask_redis_time(connection);
  seconds_ahead = a_day;
  redis.command({"ACL", "SETUSER", redis.user(), "-time"});
  ask_redis_time(connection);
  const double now = epoch_seconds(redis_now());
  redis.kill9();
  ask_redis_time(connection);
  BOOST_TEST(std::abs(epoch_seconds(redis_now()) - now) < 30);
}

BOOST_AUTO_TEST_CASE(delays_of_the_client_and_deaths_by_the_api_count_from_what_redis_says) {
  for (const long seconds : {a_day, -a_day}) {
    RedisServer redis;
    seconds_ahead = seconds;
    Client client{redis.url()};
    client.enqueue_in(600s, Sleepy{});
    const auto scheduled = redis.zrange("schedule");
    BOOST_REQUIRE(scheduled.size() == 1U);
    BOOST_TEST(std::abs(scheduled.front().second - 600 - redis_seconds(redis)) < 30);

    Api api{redis.url()};
    BOOST_TEST(api.scheduled().kill_all([](const SetEntry&) { return true; }).done == 1U);
    const auto dead = redis.zrange("dead");
    BOOST_REQUIRE(dead.size() == 1U);
    BOOST_TEST(std::abs(dead.front().second - redis_seconds(redis)) < 30);
  }
}

// A caller that names a time uses its own clock.  What is due already is due by Redis's clock.
BOOST_AUTO_TEST_CASE(a_push_that_has_no_delay_asks_for_no_time) {
  RedisServer redis;
  seconds_ahead = 0;
  Client client{redis.url()};
  client.enqueue(Sleepy{});
  BOOST_TEST(times_asked(redis) == 0);
}
