#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>
#include <map>
#include <thread>

#include "shared/job/payload.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

std::string job(int i, const std::string& queue = "low") {
  return R"({"class":"OkJob","args":[],"queue":")" + queue + R"(","jid":"j)" + std::to_string(i) +
         R"(","retry_count":3})";
}

void fill(RedisServer& redis, const std::string& set, int count, double first_score, double step = 1) {
  for (int i = 0; i < count;) {
    Command command{"ZADD", set};
    for (int n = 0; n < 500 && i < count; ++n, ++i) command.add(score_text(first_score + step * i)).add(job(i));
    redis.command(command);
  }
}

// How often each jid is found in all places together.
std::map<std::string, int> census(RedisServer& redis) {
  std::map<std::string, int> found;
  for (const char* queue : {"queue:low", "queue:high"})
    for (const std::string& payload : redis.lrange(queue)) ++found[JobRecord::read(payload).jid];
  for (const char* set : {"retry", "schedule", "dead"})
    for (const auto& [payload, score] : redis.zrange(set)) ++found[JobRecord::read(payload).jid];
  return found;
}

void check_each_once(RedisServer& redis, std::size_t count) {
  const auto found = census(redis);
  BOOST_TEST(found.size() == count);
  for (const auto& [jid, times] : found) BOOST_TEST(times == 1, jid << " is there " << times << " times");
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_retries_run_the_lowest_score_first) {
  RedisServer redis;
  fill(redis, "retry", 2345, 1000);
  Api api{redis.url()};
  std::size_t told = 0;
  const BulkResult result = api.retries().run_all({}, [&](std::size_t done, std::size_t total) {
    BOOST_TEST(done > told);
    BOOST_TEST(total == 2345u);
    told = done;
    return true;
  });
  BOOST_TEST(told == 2345u);
  BOOST_TEST(result.looked_at == 2345u);
  BOOST_TEST(result.wanted == 2345u);
  BOOST_TEST(result.done == 2345u);
  BOOST_TEST(result.gone + result.stuck == 0u);
  BOOST_TEST(!result.stopped);
  const Strings queue = redis.lrange("queue:low");
  BOOST_REQUIRE(queue.size() == 2345u);
  BOOST_TEST(JobRecord::read(queue.back()).jid == "j0");
  BOOST_TEST(JobRecord::read(queue.front()).jid == "j2344");
  BOOST_TEST(JobRecord::read(queue.front()).retry_count.value() == 2);
  BOOST_TEST(redis.keys() == (Strings{"queue:low", "queues"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(only_what_meets_the_condition_is_touched_also_among_equal_scores) {
  RedisServer redis;
  fill(redis, "retry", 2000, 1000, 0);
  Api api{redis.url()};
  const auto ends_with = [](char digit) {
    return [digit](const SetEntry& entry) { return entry.jid.back() == digit; };
  };
  BulkResult result = api.retries().run_all(ends_with('3'));
  BOOST_TEST(result.looked_at == 2000u);
  BOOST_TEST(result.done == 200u);
  result = api.retries().kill_all(ends_with('4'));
  BOOST_TEST(result.looked_at == 1800u);
  BOOST_TEST(result.done == 200u);
  result = api.retries().remove_if(ends_with('5'));
  BOOST_TEST(result.looked_at == 1600u);
  BOOST_TEST(result.done == 200u);
  BOOST_TEST(redis.size_of("retry") == 1400u);
  BOOST_TEST(redis.size_of("queue:low") == 200u);
  BOOST_TEST(redis.size_of("dead") == 200u);
  check_each_once(redis, 1800);
}

BOOST_AUTO_TEST_CASE(what_is_stuck_stays_and_holds_up_nothing) {
  RedisServer redis;
  fill(redis, "retry", 600, 1000);
  for (int i = 0; i < 600; ++i) redis.command({"ZADD", "retry", std::to_string(1000 + i), job(1000 + i, "no list")});
  for (int i = 0; i < 300; ++i)
    redis.command({"ZADD", "retry", std::to_string(1000 + i), "rubbish" + std::to_string(i)});
  redis.command({"SET", "queue:no list", "text"});
  Api api{redis.url()};
  const BulkResult result = api.retries().run_all();
  BOOST_TEST(result.looked_at == 1500u);
  BOOST_TEST(result.done == 600u);
  BOOST_TEST(result.stuck == 900u);
  BOOST_TEST(redis.size_of("retry") == 900u);
  BOOST_TEST(redis.size_of("queue:low") == 600u);
}

BOOST_AUTO_TEST_CASE(a_walk_ends_while_others_add_and_take) {
  RedisServer redis;
  fill(redis, "retry", 1000, 1000);
  Api api{redis.url()};
  int more = 100'000;
  const BulkResult result = api.retries().run_all({}, [&](std::size_t, std::size_t) {
    // Each page brings more entries, before those still to come and after them.  Other clients remove some.
    for (int i = 0; i < 300; ++i) redis.command({"ZADD", "retry", "1998.5", job(more++)});
    for (int i = 0; i < 100; ++i) redis.command({"ZADD", "retry", "3000", job(more++)});
    redis.command({"ZREMRANGEBYSCORE", "retry", "1900", "1909"});
    return true;
  });
  BOOST_TEST(result.looked_at <= 3000u);
  BOOST_TEST(result.done <= 3000u);
  for (const auto& [payload, score] : redis.zrange("retry")) BOOST_TEST(score > 1998);
}

BOOST_AUTO_TEST_CASE(killing_the_dead_ends) {
  RedisServer redis;
  fill(redis, "dead", 700, 1000);
  Api api{redis.url()};
  api.limit_dead(1'000'000, 1h);
  const BulkResult result = api.dead().kill_all();
  BOOST_TEST(result.looked_at <= 700u);
  BOOST_TEST(redis.zrange("dead").front().second > 1e9);
}

BOOST_AUTO_TEST_CASE(killing_all_keeps_the_newest_of_the_dead) {
  RedisServer redis;
  fill(redis, "retry", 1500, 2'000'000'000);
  for (int i = 0; i < 5000; ++i) redis.command({"ZADD", "dead", "1795237318", "old" + std::to_string(i)});
  Api api{redis.url()};
  api.limit_dead(1000, std::chrono::hours(24 * 36500));
  const BulkResult result = api.retries().kill_all();
  BOOST_TEST(result.done == 1500u);
  BOOST_TEST(redis.size_of("dead") == 999u);
}

BOOST_AUTO_TEST_CASE(two_clients_that_run_the_same_set_at_once_lose_and_double_nothing) {
  RedisServer redis;
  fill(redis, "retry", 10'000, 1000);
  BulkResult results[2];
  std::vector<std::thread> threads;
  for (BulkResult& result : results) {
    threads.emplace_back([&] {
      Api api{redis.url()};
      result = api.retries().run_all();
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(results[0].done + results[1].done == 10'000u);
  BOOST_TEST(redis.size_of("retry") == 0u);
  BOOST_TEST(redis.size_of("queue:low") == 10'000u);
  check_each_once(redis, 10'000);
}

BOOST_AUTO_TEST_CASE(threads_share_one_api) {
  RedisServer redis;
  fill(redis, "retry", 3000, 1000);
  Api api{redis.url()};
  std::vector<std::thread> threads;
  for (char digit : {'1', '2', '3'}) {
    threads.emplace_back([&api, digit] {
      api.retries().run_all([&](const SetEntry& entry) {
        api.stats();  // no lock is held while a function of the user's runs
        return entry.jid.back() == digit;
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(redis.size_of("queue:low") == 900u);
  check_each_once(redis, 3000);
}

BOOST_AUTO_TEST_CASE(a_client_that_is_killed_loses_and_doubles_nothing) {
  constexpr unsigned jobs = 8'000;
  RedisServer redis;
  for (int round = 0; round < 5; ++round) {
    redis.flush();
    fill(redis, "retry", jobs, 1000);
    const pid_t child = fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
      Api api{redis.url()};
      api.limit_dead(1'000'000, std::chrono::hours(24 * 36500));
      if (round % 2 == 0) {
        api.retries().run_all();
      } else {
        api.retries().kill_all();
      }
      _exit(0);
    }
    // The moment differs from round to round: it depends on how many have been moved.
    const bool begun =
        eventually([&] { return redis.size_of("retry") < jobs - 1'000u * static_cast<unsigned>(round); });
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(begun);
    check_each_once(redis, jobs);
    Api api{redis.url()};
    api.retries().run_all();
    BOOST_TEST(redis.size_of("retry") == 0u);
    check_each_once(redis, jobs);
  }
}
