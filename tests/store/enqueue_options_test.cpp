#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/job/payload.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Usual {
  int number = 0;
  static constexpr std::string_view job_class = "Usual";
  void perform() {}
};

struct Particular {
  int number = 0;
  static constexpr std::string_view job_class = "Particular";
  static constexpr JobOptions options{.queue = "critical",
                                      .retry = 5,
                                      .timeout = 30s,
                                      .backtrace = 10,
                                      .dead = false,
                                      .tags = {"alpha", "beta"},
                                      .retry_for = 3600s,
                                      .retry_queue = "low"};
  void perform() {}
};

// The payload pushed last to a queue, without the members that differ from push to push.
std::string pushed_to(RedisServer& redis, const std::string& queue) {
  const auto jobs = redis.lrange("queue:" + queue);
  if (jobs.empty()) return "nothing";
  return Payload::parse(jobs.front()).with({{"jid", {}}, {"created_at", {}}, {"enqueued_at", {}}}).text();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_call_that_says_nothing_takes_the_options_of_the_class) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue(Particular{1});
  BOOST_TEST(pushed_to(redis, "critical") ==
             R"({"retry":5,"queue":"critical","retry_queue":"low","dead":false,"backtrace":10,"tags":["alpha","beta"],)"
             R"("retry_for":3600,"class":"Particular","args":[1]})");
  client.enqueue(Usual{2}, {});
  BOOST_TEST(pushed_to(redis, "default") == R"({"retry":true,"queue":"default","class":"Usual","args":[2]})");
}

BOOST_AUTO_TEST_CASE(what_a_call_says_wins_over_the_class) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue(Particular{1}, {.queue = "other",
                                 .retry = false,
                                 .timeout = 1500ms,
                                 .backtrace = false,
                                 .dead = true,
                                 .tags = {"by \"hand\""},
                                 .retry_for = 0s,
                                 .retry_queue = ""});
  BOOST_TEST(pushed_to(redis, "other") == R"({"retry":false,"queue":"other","tags":["by \"hand\""],"timeout":1.5,)"
                                          R"("class":"Particular","args":[1]})");
  client.enqueue(Usual{2}, {.retry = 3,
                            .timeout = 0s,
                            .backtrace = true,
                            .dead = false,
                            .tags = {"a", "b"},
                            .retry_for = 60s,
                            .retry_queue = "slow",
                            .display_class = "Usual, twice"});
  BOOST_TEST(pushed_to(redis, "default") ==
             R"({"retry":3,"queue":"default","retry_queue":"slow","dead":false,"backtrace":true,"tags":["a","b"],)"
             R"("retry_for":60,"timeout":0,"display_class":"Usual, twice","class":"Usual","args":[2]})");
}

BOOST_AUTO_TEST_CASE(every_way_to_enqueue_takes_options) {
  RedisServer redis;
  Client client{redis.url()};
  const auto later = std::chrono::system_clock::now() + 1h;
  const EnqueueOptions low{.queue = "low"};
  client.enqueue_in(1h, Usual{}, low);
  client.enqueue_at(later, Usual{}, low);
  client.enqueue_bulk_at(later, std::vector<Usual>(1), low);
  client.enqueue_bulk_at(std::vector{later}, std::vector<Usual>(1), low);
  client.enqueue(Usual{}, {.queue = "low", .spread = 1h});
  const auto schedule = redis.zrange("schedule");
  BOOST_TEST(schedule.size() == 5u);
  for (const auto& [payload, score] : schedule) BOOST_TEST(Payload::parse(payload).string("queue").value() == "low");
  client.enqueue_bulk(std::vector<Usual>(2), low);
  BOOST_TEST(redis.size_of("queue:low") == 2u);
}

BOOST_AUTO_TEST_CASE(a_jid_may_be_chosen_for_one_job) {
  RedisServer redis;
  Client client{redis.url()};
  BOOST_TEST(client.enqueue(Usual{}, {.jid = "order-4711"}) == "order-4711");
  BOOST_TEST(Payload::parse(redis.lrange("queue:default").front()).jid() == "order-4711");
  BOOST_TEST(client.enqueue_bulk(std::vector<Usual>(1), {.jid = "order-4712"}).front() == "order-4712");
  BOOST_CHECK_THROW(client.enqueue_bulk(std::vector<Usual>(2), {.jid = "order-4713"}), std::invalid_argument);
  BOOST_TEST(redis.size_of("queue:default") == 2u);
}

BOOST_AUTO_TEST_CASE(further_members_win_over_all_else) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue(Particular{1},
                 {.tags = {"x"}, .members = {{"bid", R"("b1")"}, {"tags", R"(["y"])"}, {"dead", "true"}}});
  BOOST_TEST(pushed_to(redis, "critical") ==
             R"({"retry":5,"queue":"critical","retry_queue":"low","dead":true,"backtrace":10,"tags":["y"],)"
             R"("retry_for":3600,"bid":"b1","class":"Particular","args":[1]})");
}

BOOST_AUTO_TEST_CASE(what_no_payload_can_say_is_refused_before_anything_is_sent) {
  RedisServer redis;
  Client client{redis.url()};
  const int wrong = -1;
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.queue = ""}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.queue = "a b"}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.retry = wrong}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.timeout = -1s}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.tags = {"\xff"}}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.retry_for = 1'000'000'001s}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.retry_queue = "a b"}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.jid = "a b"}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.members = {{"tags", "1"}}}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.members = {{"queue", R"("other")"}}}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Usual{}, {.members = {{"a", "1,2"}}}), std::invalid_argument);
  BOOST_TEST(redis.keys().empty());
}
