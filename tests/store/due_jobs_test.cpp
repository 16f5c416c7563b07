#define BOOST_TEST_MODULE due_jobs
#include "shared/store/due_jobs.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/redis_server.hpp"

using namespace brood;
using Strings = std::vector<std::string>;

namespace {

struct Schedule {
  RedisServer server;
  Connection redis{server.address()};

  void add(const std::string& score, const std::string& member) { redis.call({"ZADD", "schedule", score, member}); }
  std::string score_of(const std::string& member) {
    return std::string(redis.call({"ZSCORE", "schedule", member}).view().text());
  }
  std::vector<MoveResult> move(const std::vector<DueJob>& jobs) {
    return read_moved(send(redis, move_due("schedule", jobs)).view());
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_due_job_goes_to_the_back_of_its_queue) {
  Schedule schedule;
  schedule.add("1795237318.5142", "as it was");
  schedule.add("2", "stays");
  schedule.redis.call({"LPUSH", "queue:a", "waits"});

  const auto results = schedule.move({{"as it was", schedule.score_of("as it was"), "a", "as it is pushed"}});

  BOOST_TEST((results == std::vector{MoveResult::moved}));
  BOOST_TEST(schedule.server.lrange("queue:a") == (Strings{"as it is pushed", "waits"}),
             boost::test_tools::per_element());
  BOOST_TEST(schedule.server.size_of("schedule") == 1u);
  BOOST_TEST(schedule.server.smembers("queues") == Strings{"a"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_job_of_a_batch_is_judged_alone) {
  Schedule schedule;
  for (const char* member : {"1", "2", "3", "4"}) schedule.add("5", member);
  schedule.redis.call({"SET", "queue:bad", "x"});
  schedule.add("6", "2");                          // rescheduled since
  schedule.redis.call({"ZREM", "schedule", "4"});  // deleted since

  const auto results = schedule.move(
      {{"1", "5", "bad", "1"}, {"2", "5", "a", "2"}, {"3", "5", "b", "3"}, {"4", "5", "a", "4"}, {"3", "5", "b", "3"}});

  BOOST_TEST((results == std::vector{MoveResult::bad_queue, MoveResult::gone, MoveResult::moved, MoveResult::gone,
                                     MoveResult::gone}));
  BOOST_TEST(schedule.server.size_of("schedule") == 2u);
  BOOST_TEST(schedule.server.keys("queue:*") == (Strings{"queue:b", "queue:bad"}), boost::test_tools::per_element());
  BOOST_TEST(schedule.server.size_of("queue:b") == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_redis_still_moves) {
  Schedule schedule;
  schedule.add("5", "1");
  schedule.add("5", "2");
  schedule.redis.call({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST((schedule.move({{"1", "5", "a", "1"}, {"2", "5", "b", "2"}}) ==
              std::vector{MoveResult::moved, MoveResult::moved}));
}

BOOST_AUTO_TEST_CASE(at_most_a_hundred_are_moved_at_once) {
  Schedule schedule;
  std::vector<DueJob> jobs;
  for (int i = 0; i < 150; ++i) {
    jobs.push_back({std::to_string(i), "5", "a", std::to_string(i)});
    schedule.add("5", std::to_string(i));
  }
  BOOST_TEST(schedule.move(jobs).size() == max_jobs_moved);
  BOOST_TEST(schedule.server.size_of("schedule") == 50u);
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
  BOOST_TEST((schedule.move({{"1", "5", "a", "1"}}) == std::vector{MoveResult::moved}));
}
