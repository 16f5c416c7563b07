#include "shared/redis/async_connection.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "shared/redis/connection.hpp"
#include "tests/store/async_answer.hpp"
#include "tests/store/opened_connection.hpp"
#include "tests/store/turned_loop.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(closing_fails_what_is_unanswered_and_connects_no_more, OpenedConnection) {
  Answer answer;
  redis.send({"PING"}, 10s, answer.keep());
  redis.close();
  BOOST_TEST(!answer);
  BOOST_TEST(loop.until([&] { return bool(answer); }));

  BOOST_TEST(contains(answer.result->error, "closed"));
  BOOST_TEST(!loop.within(300ms, [&] { return redis.connected(); }));
  BOOST_TEST(witness.losses.empty());
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));
}

BOOST_FIXTURE_TEST_CASE(a_callback_may_send_and_open_and_close, OpenedConnection) {
  Answer second, third, fourth;
  redis.send({"ECHO", "1"}, 10s, [&](Result) { redis.send({"ECHO", "2"}, 10s, second.keep()); });
  BOOST_TEST(loop.until([&] { return bool(second); }));
  BOOST_TEST(second.result->reply.view().text() == "2");

  redis.send({"ECHO", "1"}, 10s, [&](Result) { redis.open(server.address()); });
  redis.send({"ECHO", "3"}, 10s, third.keep());
  BOOST_TEST(loop.until([&] { return third && redis.connected(); }));
  BOOST_TEST(!third.result->error.empty());

  redis.send({"ECHO", "1"}, 10s, [&](Result) { redis.close(); });
  redis.send({"ECHO", "4"}, 10s, fourth.keep());
  BOOST_TEST(loop.until([&] { return bool(fourth); }));
  BOOST_TEST(!fourth.result->error.empty());
  BOOST_TEST(!redis.connected());
}

BOOST_AUTO_TEST_CASE(a_callback_may_destroy_the_connection) {
  TurnedLoop loop;
  RedisServer server;
  // From the callback of an answer, of a failure, and of each event.
  std::unique_ptr<AsyncConnection> redis;
  bool late = false;
  const auto destroy = [&] { redis.reset(); };
  const auto never = [&](Result) { late = true; };
  const auto open = [&](AsyncConnection::Events events, const RedisAddress& address) {
    redis = std::make_unique<AsyncConnection>(loop.get(), "name", std::move(events));
    redis->open(address);
  };
  const auto gone = [&] { return redis == nullptr; };

  open({destroy, {}}, server.address());
  BOOST_TEST(loop.until(gone));

  open({{}, [&](const std::string&) { destroy(); }}, RedisAddress::parse("/nonexistent/redis.sock"));
  BOOST_TEST(loop.until(gone));

  open({}, server.address());
  BOOST_TEST(loop.until([&] { return redis->connected(); }));
  redis->send({"PING"}, 10s, [&](Result) { destroy(); });
  redis->send({"PING"}, 10s, never);
  BOOST_TEST(loop.until(gone));

  open({}, server.address());
  redis->send({"PING"}, 10s, [&](Result) { destroy(); });
  redis->send({"PING"}, 10s, never);
  BOOST_TEST(loop.until(gone));

  open({}, server.address());
  BOOST_TEST(loop.until([&] { return redis->connected(); }));
  redis->send_all({{"PING"}, {"PING"}}, 10s, [&](auto) { destroy(); });
  BOOST_TEST(loop.until(gone));

  loop.turn();
  loop.turn();
  BOOST_TEST(!late);
}

BOOST_AUTO_TEST_CASE(a_connection_may_be_destroyed_in_any_phase_and_leaves_no_descriptor) {
  TurnedLoop loop;
  RedisServer server;
  loop.turn();
  const std::size_t before = open_descriptors();
  for (int turns = 0; turns < 12; ++turns) {
    AsyncConnection redis(loop.get(), "name", {});
    redis.open(server.address());
    bool called = false;
    for (int i = 0; i < turns; ++i) loop.turn();
    redis.send({"PING"}, 10s, [&](Result) { called = true; });
    BOOST_TEST(!called);
  }
  BOOST_TEST(open_descriptors() == before);
}

BOOST_FIXTURE_TEST_CASE(an_exception_of_a_callback_costs_the_connection_and_is_the_reason, OpenedConnection) {
  Answer next;
  redis.send({"PING"}, 10s, [](Result r) { r.reply.view().integer(); });
  redis.send({"PING"}, 10s, next.keep());
  BOOST_TEST(loop.until([&] { return witness.connects == 2; }));

  BOOST_REQUIRE(witness.losses.size() == 1U);
  BOOST_TEST(contains(witness.losses.front(), "expected"));
  BOOST_TEST(!next.result->error.empty());
}

BOOST_AUTO_TEST_CASE(the_receiver_of_a_message_may_destroy_the_connection) {
  TurnedLoop loop;
  RedisServer server;
  auto redis = std::make_unique<AsyncConnection>(loop.get(), "", AsyncConnection::Events{});
  redis->open(server.address());
  BOOST_REQUIRE(loop.until([&] { return redis->connected(); }));
  Answer subscribed;
  int heard = 0;
  redis->subscribe("news", 10s, subscribed.keep(), [&, kept = std::string(100, 'x')](ReplyView) {
    redis.reset();
    heard += static_cast<int>(kept.size());
  });
  BOOST_REQUIRE(loop.until([&] { return bool(subscribed); }));

  for (const char* text : {"one", "two"}) server.command({"PUBLISH", "news", text});

  BOOST_TEST(loop.until([&] { return redis == nullptr; }));
  loop.turn();
  BOOST_TEST(heard == 100);
}
