#include "shared/store/report/class_runs.hpp"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <map>

#include "shared/store/keys.hpp"
#include "supervisor/report/heartbeat.hpp"
#include "supervisor/report/metrics_flush.hpp"
#include "tests/store/loop_with_redis.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Hash = std::map<std::string, std::string>;

namespace {

// 2025-02-14T08:03:20Z
const WallTime then = WallTime(std::chrono::seconds(1739520200));
const std::string minute_7 = "j|20250214|8:3", minute_8 = "j|250214|8:03", ten_minutes = "j|250214|8:0",
                  histogram_7 = "X-14-08:3", histogram_8 = "h|X-14-8:3", used = "brood:usage:2025-02-14";

ClassUsage three_runs() {
  ClassUsage usage;
  usage.job_class = "X";
  usage.runs = 4;
  usage.failed = 1;
  usage.crashed = 1;
  usage.ms = 26;
  usage.histogram[0] = 1;
  usage.histogram[1] = 1;
  usage.cpu_us = 1'000;
  usage.wall_us = 60'000;
  usage.peak_rss_kb = 7'000;
  return usage;
}

struct Store {
  RedisServer redis;
  Connection connection{redis.address(), {}, "test"};

  std::int64_t count(const std::vector<ClassUsage>& classes) {
    return integer(connection.run(count_runs(classes, then)));
  }
  static std::int64_t integer(const Reply& reply) {
    BOOST_REQUIRE_MESSAGE(reply.view().error().empty(), reply.view().error());
    return reply.view().integer();
  }
  bool lives_for(const std::string& key, std::int64_t seconds) {
    const std::int64_t left = redis.integer({"TTL", key});
    return left > seconds - 60 && left <= seconds;
  }
};

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// Metrics as the supervisor reports them.
struct Telling : LoopWithRedis {
  Metrics metrics;
  MetricsFlush flush{connection, metrics};

  void gain(std::size_t classes, std::uint64_t runs) {
    std::vector<ClassUsage> usage;
    for (std::size_t i = 0; i < classes; ++i) {
      ClassUsage one;
      one.job_class = fmt::format("Class{:03}", i);
      one.runs = one.histogram[0] = runs;
      usage.push_back(one);
    }
    metrics.observe(usage, steady_now());
  }
  bool tell() {
    bool told = false;
    flush.begin(5s, [&] { told = true; });
    return run_until([&] { return told; });
  }
  // The sum over all classes and all minutes.
  std::int64_t told_runs(const std::string& pattern) {
    std::int64_t runs = 0;
    for (const std::string& key : redis.keys(pattern))
      for (const auto& [field, count] : redis.hgetall(key))
        if (field.ends_with("|p")) runs += std::stoll(count);
    return runs;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_flush_leaves_what_both_releases_leave, Store) {
  BOOST_TEST(count({three_runs()}) == 0);

  const Hash expected{{"X|p", "4"}, {"X|f", "2"}, {"X|ms", "26"}};
  for (const std::string& key : {minute_7, minute_8, ten_minutes}) BOOST_TEST((redis.hgetall(key) == expected), key);
  const std::string bytes("\0\1\0\1", 4);
  for (const std::string& key : {histogram_7, histogram_8}) BOOST_TEST(redis.get(key).value_or("") == bytes, key);
  const Hash usage{{"X|runs", "4"},      {"X|failed", "2"},      {"X|crashed", "1"},
                   {"X|cpu_us", "1000"}, {"X|wall_us", "60000"}, {"X|peak_rss_kb", "7000"}};
  BOOST_TEST((redis.hgetall(used) == usage));
  for (const std::string& key : {minute_7, minute_8, histogram_7, histogram_8}) BOOST_TEST(lives_for(key, 28'800), key);
  BOOST_TEST(lives_for(ten_minutes, 259'200));
  BOOST_TEST(lives_for(used, 2'592'000));
  BOOST_TEST(redis.keys().size() == 6u);
}

BOOST_FIXTURE_TEST_CASE(a_second_flush_adds_and_renews, Store) {
  count({three_runs()});
  for (const std::string& key : redis.keys()) redis.command({"EXPIRE", key, "100"});
  ClassUsage more = three_runs();
  more.peak_rss_kb = 6'000;
  BOOST_TEST(count({more}) == 0);

  BOOST_TEST((redis.hgetall(minute_8) == Hash{{"X|p", "8"}, {"X|f", "4"}, {"X|ms", "52"}}));
  BOOST_TEST(redis.get(histogram_7).value_or("") == std::string("\0\2\0\2", 4));
  BOOST_TEST(redis.hget(used, "X|peak_rss_kb").value_or("") == "7000");
  BOOST_TEST(redis.hget(used, "X|cpu_us").value_or("") == "2000");
  for (const std::string& key : redis.keys()) BOOST_TEST(redis.integer({"TTL", key}) > 100, key);
  more.peak_rss_kb = 8'000;
  count({more});
  BOOST_TEST(redis.hget(used, "X|peak_rss_kb").value_or("") == "8000");
}

BOOST_FIXTURE_TEST_CASE(failures_have_no_time_and_successes_of_no_time_have_one, Store) {
  ClassUsage failed;
  failed.job_class = "Fail";
  failed.runs = failed.failed = 3;
  ClassUsage fast;
  fast.job_class = "Fast";
  fast.runs = fast.histogram[0] = 2;
  count({failed, fast});
  BOOST_TEST((redis.hgetall(minute_8) == Hash{{"Fail|p", "3"}, {"Fail|f", "3"}, {"Fast|p", "2"}, {"Fast|ms", "0"}}));
  BOOST_TEST((redis.keys("*-14-*") == std::vector<std::string>{"Fast-14-08:3", "h|Fast-14-8:3"}));
}

BOOST_FIXTURE_TEST_CASE(a_histogram_has_the_bytes_of_sidekiqs, Store) {
  const auto vectors = test::vectors("metric-bitfield");
  ClassUsage usage;
  usage.job_class = "X";
  for (const auto& [bucket, count] : vectors.at(0).input["buckets"].members) {
    usage.histogram.at(std::stoul(bucket)) = static_cast<std::uint64_t>(count.number());
    usage.runs += static_cast<std::uint64_t>(count.number());
  }
  count({usage});
  for (const std::string& key : {histogram_7, histogram_8})
    BOOST_TEST(hex(redis.get(key).value_or("")) == vectors.at(0).expect["key_bytes_hex"].text, key);
}

BOOST_FIXTURE_TEST_CASE(a_bucket_stays_at_its_highest, Store) {
  ClassUsage usage;
  usage.job_class = "X";
  usage.runs = usage.histogram[0] = 70'000;  // more than fits at once
  usage.histogram[25] = 65'000;
  count({usage});
  count({usage});
  BOOST_TEST(hex(redis.get(histogram_8).value_or("")) == "ffff" + std::string(96, '0') + "ffff");
  BOOST_TEST(redis.hget(minute_8, "X|p").value_or("") == "140000");
}

BOOST_FIXTURE_TEST_CASE(a_key_of_another_type_is_left_and_the_others_are_added_to, Store) {
  redis.command({"SET", minute_7, "mine"});
  redis.command({"SADD", histogram_8, "mine"});
  redis.command({"SET", used, "mine"});
  redis.command({"HSET", ten_minutes, "X|p", "no number"});
  BOOST_TEST(count({three_runs()}) == 4);
  BOOST_TEST(redis.get(minute_7).value_or("") == "mine");
  BOOST_TEST(redis.hget(ten_minutes, "X|p").value_or("") == "no number");
  BOOST_TEST(redis.hget(ten_minutes, "X|f").value_or("") == "2");
  BOOST_TEST(redis.hget(minute_8, "X|p").value_or("") == "4");
  BOOST_TEST(redis.get(histogram_7).value_or("").size() == 4u);
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_takes_nothing_or_all, Store) {
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  const Reply refused = connection.run(count_runs({three_runs()}, then));
  BOOST_TEST(refused.view().error().find("OOM") != std::string_view::npos, refused.view().error());
  BOOST_TEST(redis.keys().empty());
  redis.command({"CONFIG", "SET", "maxmemory", "0"});
  BOOST_TEST(count({three_runs()}) == 0);
  BOOST_TEST(redis.keys().size() == 6u);
}

BOOST_FIXTURE_TEST_CASE(no_call_holds_up_redis_or_is_large, Store) {
  std::vector<ClassUsage> classes;
  for (std::size_t i = 0; i < most_classes_a_call; ++i) {
    ClassUsage usage = three_runs();
    usage.job_class = std::string(250, 'n') + std::to_string(1000 + i);
    usage.histogram.fill(4'000'000'000);
    usage.runs = usage.ms = usage.cpu_us = usage.wall_us = 1ULL << 52;
    classes.push_back(usage);
  }
  std::size_t bytes = 0;
  const ScriptCall call = count_runs(classes, then);
  for (const RedisKey& key : call.keys) bytes += key.name().size();
  for (const std::string& text : call.args) bytes += text.size();
  BOOST_TEST(bytes < 64u * 1024);
  BOOST_TEST(count(classes) == 0);
  BOOST_TEST(redis.size_of(minute_7) == most_classes_a_call * 3);
}

BOOST_FIXTURE_TEST_CASE(all_classes_are_told_a_few_at_a_time, Telling) {
  gain(max_usage_classes, 3);
  BOOST_TEST(tell());
  BOOST_TEST(told_runs("j|20*") == 3 * max_usage_classes);
  BOOST_TEST(metrics.unflushed(1).empty());
}

BOOST_FIXTURE_TEST_CASE(what_redis_refuses_is_told_when_it_takes_it, Telling) {
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  gain(20, 3);
  BOOST_TEST(tell());
  gain(20, 5);
  BOOST_TEST(tell());
  BOOST_TEST(redis.keys().empty());
  redis.command({"CONFIG", "SET", "maxmemory", "0"});
  BOOST_TEST(tell());
  BOOST_TEST(told_runs("j|20*") == 5 * 20);
}

BOOST_FIXTURE_TEST_CASE(a_flush_whose_answer_is_lost_is_not_repeated, Telling) {
  gain(2, 3);
  bool told = false;
  redis.pause();
  flush.begin(200ms, [&] { told = true; });
  BOOST_TEST(run_until([&] { return told; }));
  BOOST_TEST(metrics.unflushed(10).empty());
  redis.resume();
  run_until([&] { return connection.connected(); });
}

BOOST_FIXTURE_TEST_CASE(while_redis_is_away_all_is_kept, Telling) {
  redis.kill9();
  BOOST_TEST(run_until([&] { return !connection.connected(); }));
  gain(2, 3);
  BOOST_TEST(tell());
  redis.restart();
  BOOST_TEST(run_until([&] { return connection.connected(); }));
  BOOST_TEST(tell());
  BOOST_TEST(told_runs("j|20*") == 6);
}
