#define BOOST_TEST_MODULE client
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "shared/api/prepared_push.hpp"
#include "shared/job/payload.hpp"
#include "shared/redis_location.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"
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

// What a push of a JSON object is refused for; empty when it is taken.
std::string why_refused(const std::string& json) {
  try {
    prepare_push(Push::parse(json), wall_now());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// The vectors' objects as JSON again.
std::string json_of(const test::VectorValue& value) {
  std::string out;
  switch (value.kind) {
    case test::VectorValue::Kind::string:
      return json_string(value.text);
    case test::VectorValue::Kind::other:
      return value.text;
    case test::VectorValue::Kind::array:
      for (const auto& element : value.elements) out += (out.empty() ? "" : ",") + json_of(element);
      return "[" + out + "]";
    case test::VectorValue::Kind::object:
      for (const auto& [key, member] : value.members) {
        out += (out.empty() ? "" : ",") + json_string(key) + ":" + json_of(member);
      }
  }
  return "{" + out + "}";
}

Environment invented(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

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
  // Integer milliseconds, and both the same.
  const std::int64_t created = payload.integer("created_at").value();
  BOOST_TEST(payload.integer("enqueued_at").value() == created);
  BOOST_TEST(std::abs(static_cast<double>(created) / 1000 - seconds_now()) < 60);
}

BOOST_AUTO_TEST_CASE(a_job_for_later_waits_in_the_schedule) {
  RedisServer redis;
  Client client{redis.url()};
  const double before = seconds_now();
  client.enqueue_in(10min, HardJob{.name = "in"});
  client.enqueue_at(std::chrono::system_clock::from_time_t(2'000'000'000), HardJob{.name = "at"});

  const auto schedule = redis.zrange("schedule");
  BOOST_REQUIRE(schedule.size() == 2u);
  BOOST_TEST(schedule[0].second >= before + 600);
  BOOST_TEST(schedule[0].second <= seconds_now() + 600);
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

BOOST_AUTO_TEST_CASE(what_sidekiq_refuses_is_refused_before_anything_is_sent) {
  int refused = 0;
  for (const test::Vector& vector : test::vectors("reject-")) {
    if (!vector.input.has("push")) continue;
    BOOST_TEST_CONTEXT(vector.id) BOOST_TEST(why_refused(json_of(vector.input["push"])) != "");
    ++refused;
  }
  BOOST_TEST(refused == 7);
  BOOST_TEST(why_refused(R"({"class":"X","args":[{"a":[1,2.0,null,true]}]})") == "");
}

BOOST_AUTO_TEST_CASE(what_no_job_can_be_is_refused) {
  for (const char* no :
       {"", "[]", "null", R"({"class":"","args":[]})", R"({"class":"<b>","args":[]})", R"({"class":"A B","args":[]})",
        R"({"class":"X","args":[],"jid":"a'b"})", R"({"class":"X","args":[],"jid":""})",
        R"({"class":"X","args":[],"queue":"a b"})", R"({"class":"X","args":[],"retry":-1})",
        R"({"class":"X","args":[],"retry":"7"})", R"({"class":"X","args":[]} x)",
        R"({"class":"X","args":[],"at":null})", R"({"class":"X","args":[],"at":1e300})",
        R"({"class":"X","args":[NaN]})", R"({"class":"X","args":[01]})", R"({"class":"X","args":["\ud800"]})"}) {
    BOOST_TEST_CONTEXT(no) BOOST_TEST(why_refused(no) != "");
  }
  // The payload around them is a level of its own, and Ruby reads a hundred.
  const auto nested = [](std::size_t depth) {
    return R"({"class":"X","args":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  BOOST_TEST(why_refused(nested(99)) == "");
  BOOST_TEST(why_refused(nested(100)) != "");

  RedisServer redis;
  Client client{redis.url()};
  BOOST_CHECK_THROW(client.push({.job_class = "X", .args = "[1"}), std::invalid_argument);
  BOOST_CHECK_THROW(client.push({.job_class = "X", .members = {{"class", "\"Y\""}}}), std::invalid_argument);
  BOOST_CHECK_THROW(client.push({.job_class = "X", .members = {{"a", "1,\"class\":\"Y\""}}}), std::invalid_argument);
  BOOST_CHECK_THROW(client.push_bulk({{.job_class = "X"}, {.job_class = "X", .args = "1"}}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(HardJob{.name = "\xff"}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue_bulk(std::vector<HardJob>{{.name = "fine"}, {.name = "\xff"}}),
                    std::invalid_argument);
  BOOST_TEST(redis.keys().empty());
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
  const Reply stats = redis.command({"INFO", "commandstats"});
  BOOST_TEST(std::string(stats.view().text()).find("cmdstat_lpush:calls=3,") != std::string::npos);
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

BOOST_AUTO_TEST_CASE(redis_is_found_in_the_contracts_order) {
  const Environment both =
      invented({{"REDIS_URL", "redis://one:1"}, {"REDIS_PROVIDER", "MY_REDIS"}, {"MY_REDIS", "redis://two:2"}});
  BOOST_TEST(locate_redis({.url = "redis://zero:3", .user = {}, .password_file = {}}, both).host == "zero");
  BOOST_TEST(locate_redis({}, both).host == "two");
  BOOST_TEST(locate_redis({}, invented({{"REDIS_URL", "redis://one:1"}})).host == "one");
  BOOST_CHECK_THROW(locate_redis({}, invented({{"REDIS_PROVIDER", "MY_REDIS"}})), AddressError);
  BOOST_CHECK_THROW(locate_redis({}, invented({{"REDIS_PROVIDER", "redis://two:2"}})), AddressError);

  const Environment state = invented({{"STATE_DIRECTORY", "/var/lib/a:/var/lib/b"}});
  BOOST_TEST(uses_embedded_redis({}, state));
  BOOST_TEST(locate_redis({}, state).socket_path == "/var/lib/a/redis.sock");
  BOOST_TEST(!uses_embedded_redis({}, both));
  BOOST_TEST(uses_embedded_redis({.url = "embedded", .user = {}, .password_file = {}}, both));
}

BOOST_AUTO_TEST_CASE(user_and_password_file_stand_beside_the_url) {
  const TemporaryDirectory directory;
  const std::string file = directory.write("password", "s3cret\n");
  const RedisAddress address = locate_redis({.url = "redis://h:1", .user = "app", .password_file = file}, invented({}));
  BOOST_TEST(address.user == "app");
  BOOST_TEST(address.password == "s3cret");
  BOOST_CHECK_THROW(locate_redis({.url = "redis://h:1", .user = {}, .password_file = file + "x"}, invented({})),
                    AddressError);
}

BOOST_AUTO_TEST_CASE(directories_follow_systemd_then_xdg_then_the_user) {
  BOOST_TEST(runtime_directory(invented({{"RUNTIME_DIRECTORY", "/run/x"}, {"XDG_RUNTIME_DIR", "/run/user/1"}})) ==
             "/run/x");
  BOOST_TEST(runtime_directory(invented({{"XDG_RUNTIME_DIR", "/run/user/1"}})) == "/run/user/1/brood");
  BOOST_TEST(state_directory(invented({{"XDG_STATE_HOME", "/home/a/state"}})) == "/home/a/state/brood");
  if (geteuid() == 0) {
    BOOST_TEST(runtime_directory(invented({})) == "/run/brood");
    BOOST_TEST(state_directory(invented({})) == "/var/lib/brood");
  } else {
    BOOST_TEST(state_directory(invented({{"HOME", "/home/a"}})) == "/home/a/.local/state/brood");
    BOOST_CHECK_THROW(state_directory(invented({})), std::runtime_error);
  }
}
