#include "shared/store/sets/due_jobs.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/redis_server.hpp"

using namespace brood;
using boost::test_tools::per_element;
using Strings = std::vector<std::string>;

namespace {

struct Schedule {
  RedisServer server;
  Connection redis{server.address()};

  void add(const std::string& score, const std::string& member) { redis.call({"ZADD", "schedule", score, member}); }
  std::string score_of(const std::string& member) {
    return std::string(redis.call({"ZSCORE", "schedule", member}).view().text());
  }
  MoveCounts move(std::vector<DueJob> jobs) {
    return read_moved(redis.run(move_due("schedule", std::move(jobs))).view());
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_due_job_goes_to_the_back_of_its_queue) {
  Schedule schedule;
  schedule.add("1795237318.5142", "as it was");
  schedule.add("2", "stays");
  schedule.redis.call({"LPUSH", "queue:a", "waits"});

  const std::string score = schedule.score_of("as it was");
  BOOST_TEST(schedule.move({{"as it was", score, "a", "as it is pushed"}}).moved == 1u);

  BOOST_TEST(schedule.server.lrange("queue:a") == (Strings{"as it is pushed", "waits"}), per_element());
  BOOST_TEST(schedule.server.size_of("schedule") == 1u);
  BOOST_TEST(schedule.server.smembers("queues") == Strings{"a"}, per_element());
  BOOST_TEST(schedule.move({{"stays", "2", "b", "x"}}).moved == 1u);
  BOOST_TEST(schedule.server.smembers("queues") == (Strings{"a", "b"}), per_element());
}

BOOST_AUTO_TEST_CASE(jobs_of_one_queue_keep_their_order) {
  Schedule schedule;
  for (const char* member : {"1", "2", "3", "4", "5"}) schedule.add("5", member);

  const MoveCounts counts = schedule.move(
      {{"1", "5", "b", "1"}, {"2", "5", "a", "2"}, {"3", "5", "b", "3"}, {"4", "5", "a", "4"}, {"5", "5", "b", "5"}});

  BOOST_TEST(counts.moved == 5u);
  BOOST_TEST(schedule.server.lrange("queue:a") == (Strings{"4", "2"}), per_element());
  BOOST_TEST(schedule.server.lrange("queue:b") == (Strings{"5", "3", "1"}), per_element());
  BOOST_TEST(schedule.server.smembers("queues") == (Strings{"a", "b"}), per_element());
}

BOOST_AUTO_TEST_CASE(each_job_of_a_batch_is_judged_alone) {
  Schedule schedule;
  for (const char* member : {"1", "2", "3", "4", "5", "6"}) schedule.add("5", member);
  schedule.redis.call({"SET", "queue:bad", "x"});
  schedule.add("6", "2");                          // rescheduled since
  schedule.redis.call({"ZREM", "schedule", "4"});  // deleted since
  schedule.redis.call({"ZREM", "schedule", "6"});

  const MoveCounts counts = schedule.move({{"1", "5", "bad", "1"},
                                           {"2", "5", "a", "2"},
                                           {"3", "5", "b", "3"},
                                           {"4", "5", "a", "4"},
                                           {"3", "5", "b", "3"},
                                           {"5", "5", "a", "5"},
                                           {"6", "5", "bad", "6"}});

  BOOST_TEST(counts.moved == 2u);
  BOOST_TEST(counts.gone == 4u);
  BOOST_TEST(counts.stuck == 1u);
  const std::vector<std::pair<std::string, double>> left{{"1", 5}, {"2", 6}};
  BOOST_TEST((schedule.server.zrange("schedule") == left));
  BOOST_TEST(schedule.server.keys("queue:*") == (Strings{"queue:a", "queue:b", "queue:bad"}), per_element());
  BOOST_TEST(schedule.server.lrange("queue:a") == Strings{"5"}, per_element());
  BOOST_TEST(schedule.server.lrange("queue:b") == Strings{"3"}, per_element());
}

BOOST_AUTO_TEST_CASE(a_queue_of_which_nothing_is_left_to_move_is_not_named) {
  Schedule schedule;
  schedule.add("6", "rescheduled");
  BOOST_TEST(schedule.move({{"rescheduled", "5", "a", "x"}, {"deleted", "5", "b", "x"}}).gone == 2u);
  BOOST_TEST(schedule.server.smembers("queues").empty());
  BOOST_TEST(schedule.server.size_of("schedule") == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_redis_still_moves) {
  Schedule schedule;
  schedule.add("5", "1");
  schedule.add("5", "2");
  schedule.redis.call({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(schedule.move({{"1", "5", "a", "1"}, {"2", "5", "b", "2"}}).moved == 2u);
}

BOOST_AUTO_TEST_CASE(jobs_that_may_not_be_pushed_stay) {
  Schedule schedule;
  for (const char* member : {"1", "2", "3"}) schedule.add("5", member);
  schedule.server.command({"ACL", "SETUSER", schedule.server.user(), "-lpush"});
  const MoveCounts counts = schedule.move({{"1", "5", "a", "1"}, {"2", "5", "a", "2"}, {"3", "5", "b", "3"}});
  BOOST_TEST(counts.moved == 0u);
  BOOST_TEST(counts.gone == 0u);
  BOOST_TEST(counts.stuck == 3u);
  BOOST_TEST(schedule.server.size_of("schedule") == 3u);
  BOOST_TEST(schedule.server.smembers("queues").empty());
}

BOOST_AUTO_TEST_CASE(as_many_due_jobs_as_allowed_are_moved_at_once_and_no_more) {
  Schedule schedule;
  std::vector<std::string> members;
  for (std::size_t i = 0; i <= max_jobs_moved; ++i) members.push_back(std::to_string(i));
  std::vector<DueJob> jobs;
  for (const std::string& member : members) {
    jobs.push_back({member, "5", "q" + member, member});
    schedule.add("5", member);
  }
  BOOST_CHECK_THROW(schedule.move(jobs), std::invalid_argument);
  BOOST_CHECK_THROW(schedule.move({}), std::invalid_argument);
  jobs.pop_back();
  BOOST_TEST(schedule.move(jobs).moved == max_jobs_moved);
  BOOST_TEST(schedule.server.size_of("schedule") == 1u);
}

BOOST_AUTO_TEST_CASE(a_set_of_another_type_is_refused) {
  Schedule schedule;
  schedule.redis.call({"SET", "schedule", "x"});
  BOOST_CHECK_THROW(schedule.move({{"1", "5", "a", "1"}}), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(a_bad_list_of_names_does_not_hold_up_jobs) {
  Schedule schedule;
  schedule.add("5", "1");
  schedule.redis.call({"SET", "queues", "x"});
  BOOST_TEST(schedule.move({{"1", "5", "a", "1"}}).moved == 1u);
}
