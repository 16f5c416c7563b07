#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>

#include "shared/store/redis_time.hpp"
#include "shared/store/report/metric_keys.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// 2026-11-21T05:09:37Z
const Time moment = std::chrono::sys_days(std::chrono::year(2026) / 11 / 21) + 5h + 9min + 37s;

}  // namespace

BOOST_AUTO_TEST_CASE(statistics_are_sums_and_sizes) {
  RedisServer redis;
  Api api{redis.url()};
  BOOST_TEST(api.stats().processed == 0u);

  redis.command({"MSET", "stat:processed", "12", "stat:failed", "3"});
  redis.command({"ZADD", "schedule", "1", "a"});
  redis.command({"ZADD", "retry", "1", "a", "2", "b"});
  redis.command({"ZADD", "dead", "1", "a", "2", "b", "3", "c"});
  redis.command({"SADD", "queues", "default", "low", "no list"});
  const std::string enqueued_at = std::to_string(
      std::chrono::duration_cast<std::chrono::milliseconds>((wall_now() - 90s).time_since_epoch()).count());
  redis.command({"LPUSH", "queue:default", R"({"class":"X","args":[],"enqueued_at":)" + enqueued_at + "}", "b"});
  redis.command({"LPUSH", "queue:low", "a"});
  redis.command({"SET", "queue:no list", "text"});
  redis.command({"SADD", "processes", "p", "q", "none", "rubbish"});
  redis.command({"HSET", "p", "busy", "4"});
  redis.command({"HSET", "q", "busy", "5"});
  redis.command({"HSET", "rubbish", "busy", "-many"});
  const Stats stats = api.stats();
  BOOST_TEST(stats.processed == 12u);
  BOOST_TEST(stats.failed == 3u);
  BOOST_TEST(stats.scheduled == 1u);
  BOOST_TEST(stats.retries == 2u);
  BOOST_TEST(stats.dead == 3u);
  BOOST_TEST(stats.enqueued == 3u);
  BOOST_TEST(stats.processes == 4u);
  BOOST_TEST(stats.busy == 9u);
  BOOST_TEST(std::abs(stats.default_latency - 90) < 30);

  api.reset_stats();
  BOOST_TEST(redis.get("stat:processed").value() == "0");
  BOOST_TEST(redis.get("stat:failed").value() == "0");
}

BOOST_AUTO_TEST_CASE(keys_of_other_types_count_as_nothing) {
  RedisServer redis;
  for (const char* key : {"queues", "processes", "schedule", "retry", "dead", "queue:default"})
    redis.command({"SET", key, "text"});
  redis.command({"LPUSH", "stat:processed", "1"});
  redis.command({"SET", "stat:failed", "few"});
  const std::string today = Utc(wall_now()).date('-');
  redis.command({"SET", "stat:processed:" + today, "-5"});
  redis.command({"LPUSH", "stat:failed:" + today, "1"});
  Api api{redis.url()};
  const Stats stats = api.stats();
  BOOST_TEST(stats.processed + stats.failed + stats.scheduled + stats.retries + stats.dead + stats.enqueued == 0u);
  BOOST_TEST(stats.processes + stats.busy == 0u);
  BOOST_TEST(stats.default_latency == 0);
  BOOST_TEST(api.history(1).front().processed == 0u);
  BOOST_TEST(api.history(1).front().failed == 0u);
}

BOOST_AUTO_TEST_CASE(history_goes_back_from_today) {
  RedisServer redis;
  Api api{redis.url()};
  const std::vector<DayStats> empty = api.history(1825);
  BOOST_REQUIRE(empty.size() == 1825u);
  redis.command({"SET", "stat:processed:" + empty[0].day, "7"});
  redis.command({"SET", "stat:failed:" + empty[2].day, "2"});
  const std::vector<DayStats> history = api.history(3);
  BOOST_REQUIRE(history.size() == 3u);
  BOOST_TEST(history[0].day == empty[0].day);
  BOOST_TEST(history[0].processed == 7u);
  BOOST_TEST(history[0].failed == 0u);
  BOOST_TEST(history[2].failed == 2u);
  BOOST_TEST(history[0].day > history[1].day);
  BOOST_TEST(history[0].day.size() == 10u);
  for (int days : {0, -1, 1826}) BOOST_CHECK_THROW(api.history(days), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(keys_of_metrics_are_release_8s) {
  const WallTime t = std::chrono::sys_days(std::chrono::year(2025) / 2 / 14) + 8h + 3min + 59s;
  BOOST_TEST(keys::metrics_of_minute(t).name() == "j|250214|8:03");
  BOOST_TEST(keys::metrics_of_ten_minutes(t).name() == "j|250214|8:0");
  BOOST_TEST(keys::histogram_of_minute("X", t).name() == "h|X-14-8:3");
}

BOOST_AUTO_TEST_CASE(classes_are_summed_over_minutes_and_longer_times_over_tens_of_them) {
  RedisServer redis;
  Api api{redis.url()};
  const WallTime now = wall_now();
  redis.command(
      {"HSET", keys::metrics_of_minute(now - 30min), "A|p", "3", "A|f", "1", "A|ms", "500", "odd|name|p", "2"});
  redis.command({"HSET", keys::metrics_of_minute(now - 20min), "A|p", "1", "A|ms", "1500", "B|p", "1", "B|ms", "9000",
                 "B|f", "x", "rubbish", "1", "B|other", "4"});
  redis.command({"SET", keys::metrics_of_minute(now - 10min), "no hash"});
  redis.command({"HSET", keys::metrics_of_minute(now - 70min), "C|p", "1"});
  const std::vector<ClassMetrics> top = api.top_classes();
  BOOST_REQUIRE(top.size() == 3u);
  BOOST_TEST(top[0].job_class == "B");  // the one that took the longest
  BOOST_TEST(top[1].job_class == "A");
  BOOST_TEST(top[1].processed == 4u);
  BOOST_TEST(top[1].failed == 1u);
  BOOST_TEST(top[1].milliseconds == 2000u);
  BOOST_TEST(top[1].average_seconds() == 2.0 / 3);
  BOOST_TEST(top[2].job_class == "odd|name");
  BOOST_TEST(top[2].average_seconds() == 0);

  redis.command({"HSET", keys::metrics_of_ten_minutes(now - 71h), "D|p", "8"});
  const std::vector<ClassMetrics> long_ago = api.top_classes(72h);
  BOOST_REQUIRE(long_ago.size() == 1u);
  BOOST_TEST(long_ago[0].job_class == "D");
  BOOST_TEST(long_ago[0].processed == 8u);
  for (const auto length : {0min, -5min, 72 * 60min + 1min})
    BOOST_CHECK_THROW(api.top_classes(length), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_class_is_shown_minute_by_minute_with_its_histogram) {
  RedisServer redis;
  Api api{redis.url()};
  const WallTime then = wall_now() - 5min;
  redis.command({"HSET", keys::metrics_of_minute(then), "X|p", "3", "X|f", "1", "X|ms", "45"});
  redis.command({"BITFIELD", keys::histogram_of_minute("X", then), "OVERFLOW", "SAT", "INCRBY", "u16", "#1", "2"});
  redis.command({"BITFIELD", keys::histogram_of_minute("X", then), "OVERFLOW", "SAT", "INCRBY", "u16", "#25", "70000"});
  const std::vector<MinuteMetrics> minutes = api.metrics_of("X");
  BOOST_REQUIRE(minutes.size() == 60u);
  int found = 0;
  for (const MinuteMetrics& minute : minutes) {
    BOOST_REQUIRE(minute.histogram.size() == 26u);
    if (minute.processed == 0) continue;
    ++found;
    BOOST_TEST((minute.minute == Time(std::chrono::floor<std::chrono::minutes>(then))));
    BOOST_TEST(minute.processed == 3u);
    BOOST_TEST(minute.failed == 1u);
    BOOST_TEST(minute.milliseconds == 45u);
    BOOST_TEST(minute.histogram[1] == 2u);
    BOOST_TEST(minute.histogram[25] == 65535u);
  }
  BOOST_TEST(found == 1);
  BOOST_TEST((minutes.back().minute - minutes.front().minute == 59min));
  BOOST_TEST(histogram_bounds_ms().size() == 25u);
  BOOST_TEST(api.metrics_of("X", 8h).size() == 480u);
  BOOST_TEST(api.metrics_of("nobody", 1min).size() == 1u);
  for (const auto length : {0min, 481min}) BOOST_CHECK_THROW(api.metrics_of("X", length), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_deployment_is_marked_once_a_minute) {
  const test::Vector vector = test::vectors("deploy-mark").front();
  const std::string label = vector.input["label"].text;
  BOOST_TEST(vector.input["at"].text == "2026-11-21T05:09:37Z");
  const auto& commands = vector.expect["commands"].elements;
  const auto word = [&](std::size_t command, std::size_t i) { return commands[command].elements[i].text; };

  RedisServer redis;
  Api api{redis.url()};
  BOOST_TEST(api.mark_deploy(label, moment));
  BOOST_TEST(redis.get(word(0, 1)).value() == word(0, 2));
  BOOST_TEST(std::abs(redis.integer({"TTL", word(0, 1)}) - std::stol(word(0, 5))) < 30);
  BOOST_TEST(redis.hgetall(word(2, 1)).at(word(2, 2)) == word(2, 3));
  BOOST_TEST(std::abs(redis.integer({"TTL", word(3, 1)}) - std::stol(word(3, 2))) < 30);
  BOOST_TEST(redis.keys().size() == 2u);

  BOOST_TEST(!api.mark_deploy(label, moment + 1min));
  BOOST_TEST(api.mark_deploy("v0", moment - 2h));
  redis.command({"HSET", word(2, 1), "rubbish", "x", "2026-13-21T05:09:00Z", "y"});
  const std::vector<DeployMark> marks = api.deploy_marks(moment + 5h);
  BOOST_REQUIRE(marks.size() == 2u);
  BOOST_TEST(marks[0].label == "v0");
  BOOST_TEST(marks[1].label == label);
  BOOST_TEST((marks[1].at == moment - 37s));
  BOOST_TEST(api.deploy_marks(moment + 24h).empty());
  BOOST_CHECK_THROW(api.mark_deploy(""), std::invalid_argument);
}
