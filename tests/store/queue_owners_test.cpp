#include "supervisor/queues/queue_owners.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/store/loop_with_redis.hpp"

using namespace brood;

namespace {

struct Looking : LoopWithRedis {
  QueueOwnersLook owners{connection, "here:1:aaaaaaaaaaaa"};

  Looking() {
    redis.command({"SADD", "processes", "ruby:2:bbbbbbbbbbbb"});
    redis.command({"HSET", "ruby:2:bbbbbbbbbbbb", "info", R"({"hostname":"h","queues":["mailers"],"version":"7.3.0"})",
                   "quiet", "false"});
  }
  QueueOwners look() {
    std::optional<QueueOwners> found;
    owners.look([&](const QueueOwners& told) { found = told; });
    BOOST_REQUIRE(run_until([&] { return found.has_value(); }));
    return *found;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_look_that_is_not_answered_is_made_again, Looking) {
  connection.close();
  BOOST_TEST(!look().are_ruby_alone("mailers"));
  open(connection);
  const QueueOwners found = look();
  BOOST_TEST(found.are_ruby_alone("mailers"));
  BOOST_TEST(found.oldest().has_value());
}

BOOST_FIXTURE_TEST_CASE(what_was_known_holds_where_nothing_is_answered, Looking) {
  BOOST_TEST(look().are_ruby_alone("mailers"));
  connection.close();
  BOOST_TEST(look().are_ruby_alone("mailers"));
}

// Not even if there are many.
BOOST_FIXTURE_TEST_CASE(where_no_ruby_process_lives_broods_are_not_asked_for, Looking) {
  redis.command({"DEL", "processes"});
  for (int i = 0; i < 20; ++i) {
    const std::string brood = "brood" + std::to_string(i) + ":1:cccccccccccc";
    redis.command({"SADD", "processes", brood});
    redis.command({"HSET", "brood:processes", brood, "{}"});
    redis.command({"HSET", brood, "info", R"({"version":"0.1.0","queues":["mailers"]})", "quiet", "false"});
  }
  redis.command({"CONFIG", "RESETSTAT"});
  BOOST_TEST(!look().are_ruby_alone("mailers"));
  const std::string stats(redis.command({"INFO", "commandstats"}).view().text());
  BOOST_TEST(stats.find("cmdstat_hmget") == std::string::npos, stats);
}

BOOST_FIXTURE_TEST_CASE(beside_ruby_processes_broods_are_asked_what_they_serve, Looking) {
  const std::string brood = "brood:1:cccccccccccc";
  redis.command({"SADD", "processes", brood});
  redis.command({"HSET", "brood:processes", brood, "{}"});
  redis.command({"HSET", brood, "info", R"({"version":"0.1.0","queues":["mailers"]})", "quiet", "false"});
  BOOST_TEST(!look().are_ruby_alone("mailers"));
}

// Its heartbeat outlives it by a minute.
BOOST_FIXTURE_TEST_CASE(a_brood_that_was_killed_and_recovered_is_no_ruby_process, Looking) {
  const std::string dead = "brood:1:dddddddddddd";
  redis.command({"SADD", "processes", dead});
  redis.command({"HSET", dead, "info", R"({"version":"0.1.0","queues":["default"]})", "quiet", "false"});
  BOOST_TEST(!look().are_ruby_alone("default"));
  BOOST_TEST(look().are_ruby_alone("mailers"));
}
