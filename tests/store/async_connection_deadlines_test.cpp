#include "shared/redis/async_connection.hpp"

#include <boost/test/unit_test.hpp>
#include <thread>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "tests/store/async_answer.hpp"
#include "tests/store/opened_connection.hpp"
#include "tests/store/turned_loop.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/tcp_proxy.hpp"

using namespace brood;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_CASE(a_passed_deadline_costs_the_connection_and_fails_all_that_waits, OpenedConnection) {
  server.pause();

  const SteadyTime start = steady_now();
  Answer patient, hasty;
  redis.send({"INCR", "a"}, 60s, patient.keep());
  redis.send({"INCR", "b"}, 200ms, hasty.keep());
  BOOST_TEST(loop.until([&] { return patient && hasty && witness.losses.size() == 1; }));

  BOOST_TEST((steady_now() - start >= 200ms));
  BOOST_TEST((steady_now() - start < 10s));
  BOOST_TEST(contains(hasty.result->error, "deadline"));
  BOOST_TEST(!patient.result->error.empty());
  server.resume();
  BOOST_TEST(loop.until([&] { return witness.connects == 2; }));
  Answer echo;
  redis.send({"ECHO", "mine"}, 10s, echo.keep());
  BOOST_TEST(loop.until([&] { return bool(echo); }));
  BOOST_TEST(echo.result->reply.view().text() == "mine");  // not the late reply of an INCR
}

BOOST_FIXTURE_TEST_CASE(a_deadline_does_not_end_a_later_command, OpenedConnection) {
  Answer quick, slow;
  redis.send({"PING"}, 2s, quick.keep());
  BOOST_TEST(loop.until([&] { return bool(quick); }));
  redis.send({"BLPOP", "empty", "3"}, 20s, slow.keep());
  BOOST_TEST(loop.until([&] { return bool(slow); }));

  BOOST_TEST(slow.result->ok());
  BOOST_TEST(witness.losses.empty());
}

BOOST_FIXTURE_TEST_CASE(a_deadline_that_was_met_leaves_the_next_one_in_force, OpenedConnection) {
  Answer met, missed;
  redis.send({"PING"}, 20s, met.keep());
  BOOST_TEST(loop.until([&] { return bool(met); }));
  server.pause();
  redis.send({"PING"}, 200ms, missed.keep());
  BOOST_TEST(loop.until([&] { return bool(missed); }));

  BOOST_TEST(met.result->ok());
  BOOST_TEST(contains(missed.result->error, "deadline"));
}

BOOST_AUTO_TEST_CASE(a_stopped_server_accepts_but_is_a_failed_connect) {
  TurnedLoop loop;
  RedisServer server;
  server.pause();
  Witness witness;
  AsyncConnection redis(loop.get(), "name", witness.events);
  redis.open(server.address());

  BOOST_TEST(loop.until([&] { return !witness.losses.empty(); }));

  BOOST_TEST(contains(witness.losses.front(), "deadline"));
  BOOST_TEST(witness.connects == 0);
  server.resume();
  BOOST_TEST(loop.until([&] { return redis.connected(); }));
}

BOOST_FIXTURE_TEST_CASE(a_reply_that_came_while_the_loop_stood_still_is_in_time, OpenedConnection) {
  Answer answer;
  redis.send({"SET", "k", "v"}, 100ms, answer.keep());
  const SteadyTime overdue = steady_now() + 200ms;
  BOOST_TEST(eventually([&] { return server.get("k") == "v" && steady_now() > overdue; }));
  loop.turn();

  BOOST_REQUIRE(bool(answer));
  BOOST_TEST(answer.result->ok());
  // The time in which the loop stood still does not count for a later command.
  std::this_thread::sleep_until(std::chrono::steady_clock::now() + 2500ms);
  Answer later;
  redis.send({"PING"}, 2s, later.keep());
  BOOST_TEST(loop.until([&] { return bool(later); }));
  BOOST_TEST(later.result->ok());
}

BOOST_AUTO_TEST_CASE(large_values_may_take_longer_than_the_deadline_as_long_as_they_move) {
  RedisServer redis;
  TcpProxy proxy(redis.socket_path(), TcpProxy::Listen::tcp);
  proxy.limit_rate(1 << 20);
  const std::string value(3 << 20, 'x');
  TurnedLoop loop;
  Witness witness;
  AsyncConnection connection(loop.get(), "", witness.events);
  connection.open(proxy.address());
  BOOST_REQUIRE(loop.until([&] { return connection.connected(); }));

  Answer set, ping, get;
  connection.send({"SET", "k", value}, 1s, set.keep());
  connection.send({"PING"}, 1s, ping.keep());  // small commands wait behind it
  BOOST_REQUIRE(loop.until([&] { return set && ping; }));
  BOOST_TEST(set.result->ok(), set.result->why());
  BOOST_TEST(ping.result->ok(), ping.result->why());
  connection.send({"GET", "k"}, 1s, get.keep());
  BOOST_REQUIRE(loop.until([&] { return bool(get); }));

  BOOST_REQUIRE_MESSAGE(get.result->ok(), get.result->why());
  BOOST_TEST((get.result->reply.view().text() == value));
  BOOST_TEST(witness.losses.empty());

  BOOST_TEST(!connection.waits_since());
  proxy.stall_replies();
  Answer lost;
  const SteadyTime asked = steady_now();
  connection.send({"GET", "k"}, 1s, lost.keep());
  BOOST_REQUIRE(connection.waits_since());
  BOOST_TEST((*connection.waits_since() >= asked));
  BOOST_REQUIRE(loop.until([&] { return bool(lost); }));
  BOOST_TEST(!connection.waits_since());
  BOOST_TEST(!lost.result->ok());
  BOOST_TEST((steady_now() - asked < 10s));
}
