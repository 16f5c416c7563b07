#include <boost/test/unit_test.hpp>
#include <thread>

#include "shared/store/keys.hpp"
#include "tests/store/limit_samples.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/recovery/sweep_strays.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string own = "host:1:0123456789ab", dead = "other:2:0123456789ab", just_dead = "other:3:0123456789ab",
                  flushed = "other:4:0123456789ab";

std::string list_of(const std::string& identity) { return keys::in_flight_list(identity, "0.1", "default").name(); }

}  // namespace

// The sweep takes as long as a heartbeat is kept, and a minute more.
BOOST_AUTO_TEST_CASE(lists_without_a_field_go_back_unless_their_owner_shows_that_it_lives) {
  RedisServer redis;
  for (const std::string& identity : {own, dead, just_dead, flushed})
    redis.command({"LPUSH", list_of(identity), "job of " + identity});
  redis.command({"SET", just_dead, "beat", "EX", "15"});
  // Taken from a shard that is no longer configured.
  Connection connection(redis.address());
  for (const char* const field : {"0.0", "0.1"})
    connection.run(take_limits({own, field, 1, "removed"}, {limit(LimitKind::concurrent, 9)}, 0ms, 0ms));

  std::jthread supervisor([&](const std::stop_token& ended) {
    for (int second = 0; !ended.stop_requested(); ++second) {
      if (second >= 8) redis.command({"SET", flushed, "beat", "EX", "60"});
      std::this_thread::sleep_for(1s);
    }
  });
  const int status =
      sweep_strays({.identity = own, .living = {"0.1"}, .last_assigned = 1}, redis.address(), {redis.address()});
  supervisor.request_stop();
  supervisor.join();

  BOOST_TEST(status == 0);
  const std::vector<std::string> waiting = redis.lrange("queue:default");
  BOOST_TEST((std::set(waiting.begin(), waiting.end()) == std::set{"job of " + dead, "job of " + just_dead}));
  for (const std::string& identity : {own, flushed}) BOOST_TEST(redis.size_of(list_of(identity)) == 1U);
  BOOST_REQUIRE(redis.size_of("brood:limit:erp:used") == 1U);
  BOOST_TEST(redis.zrange("brood:limit:erp:used").front().first == own + "/0.1/removed");
}
