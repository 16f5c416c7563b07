#include "supervisor/report/process_pruning.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Pruning : LoopWithRedis {
  ProcessPruning pruning{loop, connection};

  Pruning() {
    redis.command({"HSET", "alive:1:aaaaaaaaaaaa", "info", "{}"});
    redis.command({"SADD", "processes", "alive:1:aaaaaaaaaaaa"});
    for (int i = 0; i < 300; ++i) redis.command({"SADD", "processes", "gone:" + std::to_string(i) + ":bbbbbbbbbbbb"});
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(processes_without_a_heartbeat_are_taken_out, Pruning) {
  pruning.prune();
  BOOST_TEST(run_until([&] { return redis.size_of("processes") == 1; }));
  BOOST_TEST(redis.smembers("processes")[0] == "alive:1:aaaaaaaaaaaa");
  const auto ttl = redis.integer({"TTL", "process_cleanup"});
  BOOST_TEST((ttl > 50 && ttl <= 60));
}

BOOST_FIXTURE_TEST_CASE(a_second_pruning_within_a_minute_does_nothing, Pruning) {
  redis.command({"SET", "process_cleanup", "1", "EX", "60"});
  pruning.prune();
  run_for(200ms);
  BOOST_TEST(redis.size_of("processes") == 301u);
}
