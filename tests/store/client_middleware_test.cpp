#include <brood/ambient.hpp>
#include <brood/client.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "shared/job/payload.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Greet {
  std::string name;
  static constexpr std::string_view job_class = "Greet";
  void perform() {}
};

bool is_stopped(const Push& push) { return push.args.find("stop") != std::string::npos; }

// Registered with the process's default chain until the end of a test.
struct ByDefault {
  explicit ByDefault(ClientMiddleware::Middleware middleware) {
    Client::default_middleware().add("of the test", std::move(middleware));
  }
  ~ByDefault() { Client::default_middleware().remove("of the test"); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_push_passes_the_chain_and_is_sent_as_it_comes_out) {
  RedisServer redis;
  Client client{redis.url()};
  std::string seen;
  client.middleware().add("change", [&](Push& push, const Next& next) {
    seen = push.jid + " " + push.job_class + push.args;
    push.queue = "other";
    push.args = R"(["changed"])";
    push.members.emplace_back("tenant", "42");
    next();
    push.members.emplace_back("late", "true");
  });
  const std::string jid = client.enqueue(Greet{"Ann"});
  BOOST_TEST(seen == jid + R"( Greet["Ann"])");
  BOOST_TEST(redis.size_of("queue:default") == 0u);
  const Payload sent = Payload::parse(redis.lrange("queue:other").front());
  BOOST_TEST(sent.jid() == jid);
  BOOST_TEST(sent.args() == R"(["changed"])");
  BOOST_TEST(sent.raw("tenant").value() == "42");
  BOOST_TEST(sent.raw("late").value() == "true");
  BOOST_TEST(redis.smembers("queues") == std::vector<std::string>{"other"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_push_that_a_middleware_stops_has_no_jid_and_sends_nothing) {
  RedisServer redis;
  Client client{redis.url()};
  client.middleware().add("stop", [](Push& push, const Next& next) {
    if (!is_stopped(push)) next();
  });
  BOOST_TEST(client.enqueue(Greet{"stop"}) == "");
  BOOST_TEST(redis.keys().empty());

  const std::vector<std::string> jids = client.enqueue_bulk(std::vector<Greet>{{"Ann"}, {"stop"}, {"Bob"}, {"stop"}});
  BOOST_REQUIRE(jids.size() == 4u);
  BOOST_TEST(jids[1] == "");
  BOOST_TEST(jids[3] == "");
  const auto sent = redis.lrange("queue:default");
  BOOST_REQUIRE(sent.size() == 2u);
  BOOST_TEST(Payload::parse(sent[1]).jid() == jids[0]);
  BOOST_TEST(Payload::parse(sent[0]).jid() == jids[2]);
}

BOOST_AUTO_TEST_CASE(the_time_of_a_scheduled_push_is_seen_and_may_be_changed) {
  RedisServer redis;
  Client client{redis.url()};
  client.middleware().add("later", [](Push& push, const Next& next) {
    if (push.at) push.at = std::chrono::system_clock::from_time_t(2'000'000'000);
    next();
  });
  client.enqueue_in(10min, Greet{"Ann"});
  client.enqueue(Greet{"Bob"});
  BOOST_TEST(redis.zrange("schedule").front().second == 2'000'000'000.0);
  BOOST_TEST(redis.size_of("queue:default") == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_middleware_throws_or_makes_impossible_sends_nothing) {
  RedisServer redis;
  Client client{redis.url()};
  client.middleware().add("break", [](Push& push, const Next& next) {
    if (push.args.find("throw") != std::string::npos) throw std::domain_error("no");
    if (push.args.find("odd") != std::string::npos) push.args = "no array";
    next();
  });
  BOOST_CHECK_THROW(client.enqueue_bulk(std::vector<Greet>{{"Ann"}, {"throw"}}), std::domain_error);
  BOOST_CHECK_THROW(client.enqueue_bulk(std::vector<Greet>{{"Ann"}, {"odd"}}), std::invalid_argument);
  BOOST_TEST(redis.keys().empty());
}

BOOST_AUTO_TEST_CASE(a_client_begins_with_the_default_chain_and_has_its_own_from_then_on) {
  RedisServer redis;
  Client before{redis.url()};
  const ByDefault by_default([](Push& push, const Next& next) {
    push.queue = "chosen";
    next();
  });
  Client with{redis.url()}, without{redis.url()};
  without.middleware().remove("of the test");
  before.enqueue(Greet{"a"});
  with.enqueue(Greet{"b"});
  without.enqueue(Greet{"c"});
  BOOST_TEST(redis.size_of("queue:default") == 2u);
  BOOST_TEST(redis.size_of("queue:chosen") == 1u);
  Client moved = std::move(with);
  moved.enqueue(Greet{"d"});
  BOOST_TEST(redis.size_of("queue:chosen") == 2u);
}

BOOST_AUTO_TEST_CASE(a_middleware_may_push_by_the_same_client) {
  RedisServer redis;
  Client client{redis.url()};
  client.middleware().add("audit", [&](Push& push, const Next& next) {
    next();
    if (push.job_class != "Audit") client.push({.job_class = "Audit"});
  });
  client.enqueue(Greet{"Ann"});
  BOOST_TEST(redis.size_of("queue:default") == 2u);
}

BOOST_AUTO_TEST_CASE(every_client_carries_what_is_set_on_the_thread) {
  RedisServer redis;
  Client client{redis.url()};
  const ambient::Scope scope;
  ambient::set("tenant", "42");
  client.enqueue(Greet{"Ann"});
  std::thread([&] { client.enqueue(Greet{"Bob"}); }).join();
  client.middleware().remove("carry_context");
  client.enqueue(Greet{"Cyd"});
  const auto sent = redis.lrange("queue:default");
  BOOST_TEST(Payload::parse(sent[2]).raw("cattr").value() == R"({"tenant":42})");
  BOOST_TEST(!Payload::parse(sent[1]).raw("cattr"));
  BOOST_TEST(!Payload::parse(sent[0]).raw("cattr"));
}
