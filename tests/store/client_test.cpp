#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "shared/api/push/push_writer.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/redis_stats.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct HardJob {
  std::string name;
  int count = 0;
  std::optional<double> part = {};

  static constexpr JobOptions options{.queue = "critical", .retry = 5, .dead = false, .tags = {"alpha", "beta"}};
  static constexpr std::string_view job_class = "HardJob";
  void perform() {}
};

// The payload's members but the three that differ from push to push.
std::string without_chance(const Payload& payload) {
  return payload.with({{"jid", {}}, {"created_at", {}}, {"enqueued_at", {}}}).text();
}

double seconds_now() { return epoch_seconds(wall_now()); }

}  // namespace

BOOST_AUTO_TEST_CASE(an_enqueued_job_is_a_payload_in_its_queue) {
  RedisServer redis;
  Client client{redis.url()};
  const std::string jid = client.enqueue(HardJob{.name = "h\xC3\xA9<>&/", .count = 2, .part = 1.0});

  BOOST_TEST(redis.smembers("queues") == std::vector<std::string>{"critical"}, boost::test_tools::per_element());
  BOOST_REQUIRE(redis.size_of("queue:critical") == 1u);
  const Payload payload = Payload::parse(redis.lrange("queue:critical").front());
  BOOST_TEST(payload.jid() == jid);
  BOOST_TEST(jid.size() == 24u);
  BOOST_TEST(jid.find_first_not_of("0123456789abcdef") == std::string::npos);
  BOOST_TEST(without_chance(payload) ==
             "{\"retry\":5,\"queue\":\"critical\",\"dead\":false,\"tags\":[\"alpha\",\"beta\"],\"class\":\"HardJob\","
             "\"args\":[\"h\xC3\xA9<>&/\",2,1.0]}");
  // Seconds with a fraction, and both the same.
  const std::string_view created = payload.raw("created_at").value();
  BOOST_TEST(!is_json_integer(created));
  BOOST_TEST(payload.raw("enqueued_at").value() == created);
  BOOST_TEST(std::abs(payload.number("created_at").value() - seconds_now()) < 60);
}

BOOST_AUTO_TEST_CASE(a_job_for_later_waits_in_the_schedule) {
  RedisServer redis;
  Client client{redis.url()};
  const double before = seconds_now();
  client.enqueue_in(10min, HardJob{.name = "in"});
  client.enqueue_at(std::chrono::system_clock::from_time_t(2'000'000'000), HardJob{.name = "at"});

  const auto schedule = redis.zrange("schedule");
  BOOST_REQUIRE(schedule.size() == 2u);
  constexpr double error = 30;  // the client uses Redis's time as it last read it
  BOOST_TEST(schedule[0].second >= before + 600 - error);
  BOOST_TEST(schedule[0].second <= seconds_now() + 600 + error);
  BOOST_TEST(schedule[1].second == 2'000'000'000.0);
  for (const auto& [text, score] : schedule) {
    const Payload payload = Payload::parse(text);
    BOOST_TEST(!payload.raw("enqueued_at"));
    BOOST_TEST(!payload.raw("at"));
    BOOST_TEST(payload.raw("created_at").has_value());
  }
  BOOST_TEST(redis.size_of("queues") == 0u);
}

BOOST_AUTO_TEST_CASE(a_time_that_is_past_means_now) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue_in(-5s, HardJob{});
  client.enqueue_in(0s, HardJob{});
  client.enqueue_at(std::chrono::system_clock::now() - 1h, HardJob{});
  client.enqueue_at(std::chrono::system_clock::from_time_t(5), HardJob{});  // 1970, no interval of 5 s
  BOOST_TEST(redis.size_of("queue:critical") == 4u);
  BOOST_TEST(redis.size_of("schedule") == 0u);
  BOOST_CHECK_THROW(client.enqueue_in(1'000'000'000s, HardJob{}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_direct_push_with_a_past_time_keeps_it) {
  RedisServer redis;
  Client client{redis.url()};
  client.push(Push::parse(R"({"class":"X","args":[],"at":1.5})"));
  BOOST_TEST(redis.zrange("schedule").front().second == 1.5);
}

BOOST_AUTO_TEST_CASE(intervals_follow_sidekiqs_rule) {
  for (const test::Vector& vector : test::vectors("interval-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      const auto at = scheduled_time(vector.input["interval"].number(), vector.input["now"].number());
      if (vector.expect.has("at")) {
        BOOST_TEST(at.value() == vector.expect["at"].number());
      } else {
        BOOST_TEST(!at);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_push_carries_every_member_through) {
  RedisServer redis;
  Client client{redis.url()};
  const std::string json =
      R"({"class":"Ruby::Thing","args":[12345678901234567890,1.0e+20,{"a":[]}],"queue":"low","jid":"abc","retry":false,)"
      R"("bid":"b1","created_at":1795237264.1911535,"expires_in":3600})";
  BOOST_TEST(client.push(Push::parse(json)) == "abc");
  const Payload payload = Payload::parse(redis.lrange("queue:low").front());
  BOOST_TEST(payload.with({{"enqueued_at", {}}}).text() ==
             R"({"retry":false,"queue":"low","bid":"b1","created_at":1795237264.1911535,"expires_in":3600,)"
             R"("class":"Ruby::Thing","args":[12345678901234567890,1.0e+20,{"a":[]}],"jid":"abc"})");
}

BOOST_AUTO_TEST_CASE(what_ruby_clients_wrote_is_pushed_with_the_same_members) {
  RedisServer redis;
  Client client{redis.url()};
  int pushed = 0;
  for (const test::Vector& vector : test::vectors("push-")) {
    for (const test::VectorValue& command : vector.expect["commands"].elements) {
      const bool scheduled = command.elements[0].text == "zadd";
      if (command.elements[0].text == "sadd") continue;
      for (std::size_t i = scheduled ? 3 : 2; i < command.elements.size(); i += scheduled ? 2 : 1) {
        const Payload ruby = Payload::parse(command.elements[i].text);
        Push push = Push::parse(ruby.text());
        redis.flush();
        client.push(push);
        const Payload ours =
            Payload::parse(redis
                               .lrange(command.elements[1].text.starts_with("queue:") ? command.elements[1].text
                                                                                      : "queue:" + push.queue)
                               .front());
        for (const char* key : {"retry", "queue", "args", "class", "jid", "created_at", "tags", "dead", "backtrace",
                                "retry_for", "retry_queue", "unique_for"}) {
          BOOST_TEST_CONTEXT(vector.id << " " << key) BOOST_TEST((ours.raw(key) == ruby.raw(key)));
        }
        ++pushed;
      }
    }
  }
  BOOST_TEST(pushed >= 30);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_a_redis_error_that_says_why) {
  RedisServer redis;
  redis.command({"SET", "queue:critical", "no list"});
  Client client{redis.url()};
  try {
    client.enqueue(HardJob{});
    BOOST_FAIL("it was taken");
  } catch (const RedisError& error) {
    BOOST_TEST(std::string(error.what()).find("WRONGTYPE") != std::string::npos);
  }
  BOOST_CHECK_THROW(Client{"unix:///nowhere/at/all.sock"}.enqueue(HardJob{}), RedisError);
  BOOST_CHECK_THROW(Client{"gopher://x"}, RedisError);
}

BOOST_AUTO_TEST_CASE(a_former_master_is_asked_once_more_on_a_new_connection) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue(HardJob{});
  redis.command({"REPLICAOF", "127.0.0.1", "1"});
  const std::int64_t before = redis.integer({"DBSIZE"});
  try {
    client.enqueue(HardJob{});
    BOOST_FAIL("it was taken");
  } catch (const RedisError& error) {
    BOOST_TEST(std::string(error.what()).find("READONLY") != std::string::npos);
  }
  BOOST_TEST(redis.integer({"DBSIZE"}) == before);
  redis.command({"REPLICAOF", "NO", "ONE"});
  client.enqueue(HardJob{});
  BOOST_TEST(redis.size_of("queue:critical") == 2u);
}

BOOST_AUTO_TEST_CASE(a_client_survives_a_restart_of_redis) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue(HardJob{});
  redis.kill9();
  BOOST_CHECK_THROW(client.enqueue(HardJob{}), RedisError);
  redis.restart();
  client.enqueue(HardJob{});
  BOOST_TEST(redis.size_of("queue:critical") == 1u);
}

BOOST_AUTO_TEST_CASE(a_connection_that_rested_is_renewed_without_an_error) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue(HardJob{});
  const auto rested = std::chrono::steady_clock::now() + 1100ms;
  redis.kill9();
  redis.restart();
  std::this_thread::sleep_until(rested);  // the rest itself is what is tested
  client.enqueue(HardJob{});
  BOOST_TEST(redis.size_of("queue:critical") == 1u);
}

BOOST_AUTO_TEST_CASE(threads_may_share_a_client) {
  RedisServer redis;
  Client client{redis.url()};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&client] {
      for (int n = 0; n < 50; ++n) client.enqueue(HardJob{});
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(redis.size_of("queue:critical") == 200u);
}

BOOST_AUTO_TEST_CASE(a_forked_child_has_a_connection_of_its_own) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue(HardJob{.name = "parent"});
  const std::size_t before = connections_of(redis);
  // Both talk at once, which on one socket would mix their bytes.
  ForkedChild child([&] {
    for (int i = 0; i < 300; ++i) client.enqueue(HardJob{.name = "child", .count = i});
    return true;
  });
  int mine = 1;
  while (child.is_running()) {
    client.enqueue(HardJob{.name = "parent", .count = mine});
    ++mine;
  }
  BOOST_TEST(child.was_well());
  client.enqueue(HardJob{.name = "parent"});  // on the connection that it had
  BOOST_TEST(redis.size_of("queue:critical") == static_cast<std::size_t>(mine) + 301u);
  BOOST_TEST(connections_of(redis) == before + 1);
  std::set<std::string> jids;
  for (const std::string& payload : redis.lrange("queue:critical")) jids.insert(Payload::parse(payload).jid());
  BOOST_TEST(jids.size() == redis.size_of("queue:critical"));
}

#ifndef __SANITIZE_ADDRESS__  // see ForkedChild
BOOST_AUTO_TEST_CASE(a_child_may_be_forked_while_another_thread_pushes) {
  RedisServer redis;
  Client client{redis.url()};
  std::atomic<bool> done = false;
  std::size_t mine = 0;
  std::thread pusher([&] {
    for (; !done; ++mine) client.enqueue(HardJob{.name = "parent"});
  });
  constexpr std::size_t children = 20;
  for (std::size_t i = 0; i < children; ++i) {
    BOOST_TEST(in_child([&] {
      client.enqueue(HardJob{.name = "child"});
      return true;
    }));
  }
  done = true;
  pusher.join();
  BOOST_TEST(redis.size_of("queue:critical") == mine + children);
}
#endif

BOOST_AUTO_TEST_CASE(a_child_may_end_with_its_parents_client_unused) {
  RedisServer redis;
  Client client{redis.url()};
  client.enqueue(HardJob{});
  BOOST_TEST(in_child([&] {
    const Client moved = std::move(client);
    return true;
  }));
  const std::size_t before = connections_of(redis);
  client.enqueue(HardJob{});
  BOOST_TEST(connections_of(redis) == before);
}
