#include "supervisor/restart/remaining_work.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/enqueue.hpp"

using namespace brood;

namespace {

RemainingWork look(RedisServer& redis, const std::vector<std::string>& queues = {}) {
  Connection connection(redis.address(), {}, "test");
  return look_for_remaining_work(connection, queues);
}

std::string why_not(RedisServer& redis) {
  RedisAddress address = redis.address();
  address.shard = "west";
  return why_not_empty({address}, {});
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_empty_shard_may_be_taken_out_and_the_dead_may_stay) {
  RedisServer redis;
  BOOST_TEST(look(redis).is_nothing());
  redis.command({"ZADD", "dead", "1", payload_text("A", "[]")});
  redis.command({"SADD", "queues", "default"});  // of a queue that was emptied
  BOOST_TEST(look(redis).is_nothing());
  BOOST_TEST(look(redis).dead == 1);
  BOOST_TEST(why_not(redis) == "");
}

BOOST_AUTO_TEST_CASE(each_of_these_keeps_a_shard) {
  const std::vector<std::pair<Command, RemainingWork>> all = {
      {{"ZADD", "schedule", "4e9", "{}"}, {.scheduled = 1}},
      {{"ZADD", "retry", "4e9", "{}"}, {.retries = 1}},
      {{"ZADD", "brood:quarantined", "1", "{}"}, {.quarantined = 1}},
      {{"LPUSH", "brood:inflight:h:1:0123456789ab:3.7:default", "{}"}, {.in_flight = 1}},
      {{"SET", "brood:unique:abc", "jid"}, {.locks = 1}},
  };
  for (const auto& [command, left] : all) {
    RedisServer redis;
    redis.command(command);
    BOOST_TEST((look(redis) == left), describe(left) << ": " << describe(look(redis)));
    BOOST_TEST(why_not(redis).find("the shard west cannot be taken out, for it has " + describe(left)) == 0U,
               why_not(redis));
  }
}

BOOST_AUTO_TEST_CASE(queues_count_that_redis_or_the_configuration_names_and_those_set_aside) {
  RedisServer redis;
  enqueue(redis, {payload_text("A", "[]", 1), payload_text("A", "[]", 2)});
  redis.command({"LPUSH", "queue:unlisted", "{}"});
  redis.command({"LPUSH", "queue:erp@cap", "{}"});
  redis.command({"SADD", "brood:set_aside", "erp@cap"});
  BOOST_TEST(look(redis).waiting == 3);
  BOOST_TEST(look(redis, {"unlisted", "default"}).waiting == 4);
}

BOOST_AUTO_TEST_CASE(what_a_process_of_ruby_runs_counts_as_in_flight) {
  RedisServer redis;
  redis.command({"SADD", "processes", "ruby:1:a"});
  redis.command({"HSET", "ruby:1:a", "info", R"({"hostname":"ruby","version":"7.3.0","queues":["default"]})", "busy",
                 "2", "beat", "4000000000", "quiet", "false"});
  BOOST_TEST(look(redis).in_flight == 2);
}

BOOST_AUTO_TEST_CASE(the_remaining_work_of_a_shard_that_is_away_is_unknown) {
  RedisServer redis;
  redis.kill9();
  BOOST_TEST(why_not(redis).find(
                 "the shard west cannot be taken out, because it cannot be checked whether it is empty") == 0U);
}

BOOST_AUTO_TEST_CASE(the_remaining_work_is_described_in_words) {
  BOOST_TEST(describe({}) == "");
  BOOST_TEST(describe({.waiting = 1, .scheduled = 2, .in_flight = 1}) ==
             "1 job that waits, 2 scheduled jobs, 1 job in flight");
  BOOST_TEST(describe({.retries = 1, .quarantined = 1, .locks = 1, .slots = 2}) ==
             "1 job that is to be retried, 1 job in quarantine, 1 lock of a unique job, 2 slots of limits");
}

BOOST_AUTO_TEST_CASE(jobs_that_wait_for_a_sequence_without_a_holder_count) {
  RedisServer redis;
  redis.command({"RPUSH", "brood:sequence:s", payload_text("A", "[]", 1), payload_text("A", "[]", 2)});
  BOOST_TEST(look(redis).waiting == 2);
  BOOST_TEST(why_not(redis) != "");
}
