#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <chrono>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct HardJob {
  std::string name;
  int count = 0;

  static constexpr JobOptions options{.queue = "critical"};
  static constexpr std::string_view job_class = "HardJob";
  void perform() {}
};

using Clock = std::chrono::system_clock;

double seconds_now() { return epoch_seconds(wall_now()); }

std::size_t calls_of(RedisServer& redis, const std::string& command) {
  const Reply stats = redis.command({"INFO", "commandstats"});
  const std::string text(stats.view().text()), name = "cmdstat_" + command + ":calls=";
  const std::size_t at = text.find(name);
  return at == text.npos ? 0 : std::stoul(text.substr(at + name.size()));
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_empty_bulk_sends_nothing) {
  Client client{"unix:///nowhere/at/all.sock"};
  BOOST_TEST(test::vectors("bulk-empty").front().expect["commands"].elements.empty());
  BOOST_TEST(client.enqueue_bulk(std::vector<HardJob>{}).empty());
}

BOOST_AUTO_TEST_CASE(a_bulk_goes_in_slices_of_a_thousand_in_order) {
  RedisServer redis;
  Client client{redis.url()};
  std::vector<HardJob> jobs;
  for (int i = 0; i < 2500; ++i) jobs.push_back({.name = "n", .count = i});
  const auto jids = client.enqueue_bulk(jobs);

  BOOST_TEST(std::set<std::string>(jids.begin(), jids.end()).size() == 2500u);
  const auto queue = redis.lrange("queue:critical");
  BOOST_REQUIRE(queue.size() == 2500u);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    BOOST_REQUIRE(Payload::parse(queue[queue.size() - 1 - i]).jid() == jids[i]);  // the first is next to run
  }
  BOOST_TEST(calls_of(redis, "lpush") == 3u);
}

BOOST_AUTO_TEST_CASE(a_bulk_may_mix_queues_and_times) {
  RedisServer redis;
  Client client{redis.url()};
  client.push_bulk({{.job_class = "A", .queue = "a"},
                    {.job_class = "B", .queue = "b"},
                    {.job_class = "C", .at = std::chrono::system_clock::from_time_t(2'000'000'000)},
                    {.job_class = "D", .queue = "a"}});
  BOOST_TEST(redis.size_of("queue:a") == 2u);
  BOOST_TEST(redis.size_of("queue:b") == 1u);
  BOOST_TEST(redis.size_of("schedule") == 1u);
  BOOST_TEST(redis.size_of("queues") == 2u);
}

BOOST_AUTO_TEST_CASE(a_bulk_is_sent_as_ruby_clients_send_it) {
  for (const test::Vector& vector : test::vectors("push-bulk-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      RedisServer redis;
      Client client{redis.url()};
      std::vector<Push> jobs;
      std::vector<std::string> payloads, scores;
      for (const test::VectorValue& command : vector.expect["commands"].elements) {
        const bool scheduled = command.elements[0].text == "zadd";
        if (command.elements[0].text == "sadd") continue;
        for (std::size_t i = 2; i < command.elements.size(); ++i) {
          if (scheduled) scores.push_back(command.elements[i++].text);
          jobs.push_back(Push::parse(command.elements[i].text));
          if (scheduled) jobs.back().at = Clock::from_time_t(std::stol(scores.back()));
        }
      }
      client.push_bulk(jobs);
      BOOST_TEST(calls_of(redis, "sadd") + calls_of(redis, "lpush") + calls_of(redis, "zadd") ==
                 vector.expect["commands"].elements.size());
      if (!scores.empty()) {
        const auto schedule = redis.zrange("schedule");
        BOOST_REQUIRE(schedule.size() == jobs.size());
        for (std::size_t i = 0; i < jobs.size(); ++i) {
          BOOST_TEST(schedule[i].second == std::stod(scores[i]));
          BOOST_TEST(!Payload::parse(schedule[i].first).raw("enqueued_at"));
        }
        continue;
      }
      const auto queue = redis.lrange("queue:default");
      BOOST_REQUIRE(queue.size() == jobs.size());
      std::set<double> enqueued;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Payload payload = Payload::parse(queue[jobs.size() - 1 - i]);
        BOOST_TEST(payload.args() == jobs[i].args);
        enqueued.insert(payload.number("enqueued_at").value());
      }
      BOOST_TEST(enqueued.size() == 1u);
    }
  }
}

BOOST_AUTO_TEST_CASE(each_job_of_a_bulk_has_its_own_time_and_what_is_past_goes_at_once) {
  RedisServer redis;
  Client client{redis.url()};
  const std::vector<Clock::time_point> times = {Clock::from_time_t(2'000'000'060), Clock::now() - 1h,
                                                Clock::from_time_t(2'000'000'000)};
  const auto jids = client.enqueue_bulk_at(times, std::vector<HardJob>{{"a"}, {"b"}, {"c"}});

  const auto schedule = redis.zrange("schedule");
  BOOST_REQUIRE(schedule.size() == 2u);
  BOOST_TEST(Payload::parse(schedule[0].first).jid() == jids[2]);
  BOOST_TEST(schedule[0].second == 2'000'000'000.0);
  BOOST_TEST(Payload::parse(schedule[1].first).jid() == jids[0]);
  BOOST_TEST(schedule[1].second == 2'000'000'060.0);
  BOOST_REQUIRE(redis.size_of("queue:critical") == 1u);
  BOOST_TEST(Payload::parse(redis.lrange("queue:critical").front()).jid() == jids[1]);

  redis.flush();
  client.enqueue_bulk_at(Clock::from_time_t(2'000'000'000), std::vector<HardJob>(3), {.queue = "low"});
  for (const auto& [payload, score] : redis.zrange("schedule")) {
    BOOST_TEST(score == 2'000'000'000.0);
    BOOST_TEST(Payload::parse(payload).string("queue").value() == "low");
  }
  BOOST_CHECK_THROW(client.enqueue_bulk_at(times, std::vector<HardJob>(4)), std::invalid_argument);
  BOOST_TEST(redis.size_of("schedule") == 3u);
}

BOOST_AUTO_TEST_CASE(a_spread_gives_each_job_a_random_time) {
  RedisServer redis;
  Client client{redis.url()};
  const double before = seconds_now();
  client.enqueue_bulk(std::vector<HardJob>(400), {.spread = 1h});
  const double after = seconds_now();

  std::set<double> times;
  std::size_t early = 0;
  for (const auto& [payload, score] : redis.zrange("schedule")) {
    BOOST_REQUIRE(score >= before);
    BOOST_REQUIRE(score < after + 3600);
    times.insert(score);
    early += score < before + 1800;
  }
  BOOST_TEST(times.size() == 400u);
  // 400 fair coins show heads 100 to 300 times, except once in 10^23 times.
  BOOST_TEST(early > 100u);
  BOOST_TEST(early < 300u);

  // A spread cannot be narrower than the scheduler's resolution.
  redis.flush();
  client.enqueue_bulk(std::vector<HardJob>(400), {.spread = 1ms});
  BOOST_TEST(redis.zrange("schedule").back().second > before + 1);
  BOOST_TEST(redis.zrange("schedule").back().second < seconds_now() + 60);
  BOOST_CHECK_THROW(client.enqueue_bulk(std::vector<HardJob>(1), {.spread = 0ms}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue_in(1h, HardJob{}, {.spread = 1h}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_batch_is_as_large_as_it_was_asked_to_be) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue_bulk(std::vector<HardJob>(250), {.batch_size = 100});
  BOOST_TEST(calls_of(redis, "lpush") == 3u);
  client.enqueue_bulk_at(Clock::now() + 1h, std::vector<HardJob>(250));
  BOOST_TEST(calls_of(redis, "zadd") == 3u);  // a hundred each, as release 8 does it
  client.enqueue_bulk_at(Clock::now() + 1h, std::vector<HardJob>(250), {.batch_size = 1000});
  BOOST_TEST(calls_of(redis, "zadd") == 4u);
  BOOST_TEST(redis.size_of("schedule") == 500u);
  BOOST_TEST(redis.size_of("queue:critical") == 250u);
}

#ifndef __clang__  // clang 14 cannot read g++'s views
BOOST_AUTO_TEST_CASE(a_bulk_holds_no_more_than_a_slice_of_its_range) {
  RedisServer redis;
  Client client{redis.url()};
  long longest_ahead = 0;
  const auto jobs = std::views::iota(0, 5'000) | std::views::transform([&](int i) {
                      const long pushed = redis.command({"LLEN", "queue:critical"}).view().integer();
                      longest_ahead = std::max(longest_ahead, i - pushed);
                      return HardJob{.name = "n", .count = i};
                    });
  const auto jids = client.enqueue_bulk(jobs);
  BOOST_TEST(jids.size() == 5'000U);
  BOOST_TEST(longest_ahead <= 1'000);
  BOOST_TEST(redis.size_of("queue:critical") == 5'000U);
}
#endif

BOOST_AUTO_TEST_CASE(what_a_later_slice_is_refused_for_says_what_was_pushed) {
  RedisServer redis;
  Client client{redis.url()};
  std::vector<HardJob> jobs(2'500, HardJob{.name = "n"});
  jobs[2'100].name = "\xff";
  BOOST_CHECK_EXCEPTION(client.enqueue_bulk(jobs), std::invalid_argument, [](const std::invalid_argument& error) {
    return std::string(error.what()).ends_with("; the 2000 jobs before these were pushed");
  });
  BOOST_TEST(redis.size_of("queue:critical") == 2'000U);
  BOOST_CHECK_THROW(client.enqueue_bulk(jobs, {.jid = "one"}), std::invalid_argument);
  BOOST_TEST(redis.size_of("queue:critical") == 2'000U);
  const std::vector<Clock::time_point> times(2'499, Clock::now() + 1h);
  BOOST_CHECK_THROW(client.enqueue_bulk_at(times, jobs), std::invalid_argument);
  BOOST_TEST(redis.size_of("schedule") == 0U);
}

// A slice consists of one command for each queue.
BOOST_AUTO_TEST_CASE(what_is_refused_in_part_says_what_was_pushed) {
  RedisServer redis;
  Client client{redis.url()};
  redis.command({"SET", "queue:b", "no list"});
  std::vector<Push> pushes(1'500, Push{.job_class = "Ping", .queue = "a"});
  for (const std::size_t refused : {1'000, 1'100, 1'200}) pushes[refused].queue = "b";
  BOOST_CHECK_EXCEPTION(client.push_bulk(pushes), RedisError, [](const RedisError& error) {
    return std::string(error.what())
        .ends_with("; of these 500 jobs 497 were pushed; of 1500 jobs the first 1000 were pushed");
  });
  BOOST_TEST(redis.size_of("queue:a") == 1'497U);
}
