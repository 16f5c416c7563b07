// TLS to Redis: slow lines, deadlines, and servers that go away.
#include "tests/store/tls_servers.hpp"

#include <signal.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>
#include <thread>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/redis/connection.hpp"
#include "tests/store/turned_loop.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/tcp_proxy.hpp"

using namespace brood;
using namespace brood::tls_tests;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_line_that_carries_byte_by_byte_is_waited_for) {
  RedisServer server(tls_server());
  TcpProxy proxy(std::to_string(server.port()), TcpProxy::Listen::tcp);
  proxy.split_into(1);
  Connection redis(through(proxy), patient);
  const std::string value = of_size(500);
  BOOST_TEST(redis.call({"SET", "k", value}).view().text() == "OK");
  BOOST_TEST((redis.call({"GET", "k"}).view().text() == value));

  TurnedLoop loop;
  AsyncConnection async(loop.get(), "test", {});
  async.open(through(proxy));
  BOOST_REQUIRE(loop.until([&] { return async.connected(); }));
  BOOST_TEST((answer_to(loop, async, {"GET", "k"})->reply.view().text() == value));
}

// Longer than the time for a reply, as without TLS.
BOOST_AUTO_TEST_CASE(a_reply_is_waited_for_while_its_bytes_come) {
  RedisServer server(tls_server());
  TcpProxy proxy(std::to_string(server.port()), TcpProxy::Listen::tcp);
  Connection redis(through(proxy), {20s, 1s});
  const std::string value = of_size(400'000);
  BOOST_TEST(redis.call({"SET", "k", value}).view().text() == "OK");
  proxy.limit_rate(150'000);
  BOOST_TEST((redis.call({"GET", "k"}).view().text() == value));
  BOOST_TEST(redis.connections() == 1u);
}

BOOST_AUTO_TEST_CASE(a_reply_that_does_not_come_costs_the_connection_at_its_deadline) {
  RedisServer server(tls_server());
  TcpProxy proxy(std::to_string(server.port()), TcpProxy::Listen::tcp);
  Connection redis(through(proxy), {20s, 20s});
  redis.call({"PING"});
  redis.set_timeouts({20s, 300ms});
  proxy.stall_replies();
  const auto start = steady_now();
  BOOST_CHECK_THROW(redis.call({"PING"}), ConnectionLost);
  BOOST_TEST((steady_now() - start < 15s));
  redis.set_timeouts({20s, 20s});
  proxy.stall_replies(false);
  BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
  BOOST_TEST(redis.connections() == 2u);
}

BOOST_AUTO_TEST_CASE(a_handshake_keeps_the_deadline_of_connecting) {
  RedisServer server(tls_server());
  TcpProxy proxy(std::to_string(server.port()), TcpProxy::Listen::tcp);
  proxy.stall_replies();
  const auto start = steady_now();
  BOOST_CHECK_THROW(Connection(through(proxy), {500ms, 20s}).call({"PING"}), ConnectionLost);
  BOOST_TEST((steady_now() - start < 5s));

  TurnedLoop loop;
  std::vector<std::string> losses;
  AsyncConnection async(loop.get(), "test",
                        {.connected = {}, .disconnected = [&](const std::string& why) { losses.push_back(why); }});
  async.open(through(proxy));
  BOOST_TEST(loop.until([&] { return !losses.empty(); }));
  BOOST_TEST(contains(losses.front(), "no TLS handshake"), losses.front());
  BOOST_TEST(async.refusal() == "");
  proxy.stall_replies(false);
  BOOST_TEST(loop.until([&] { return async.connected(); }));
}

BOOST_AUTO_TEST_CASE(a_server_that_goes_in_the_midst_of_a_handshake_is_waited_for) {
  RedisServer server(tls_server());
  TcpProxy proxy(std::to_string(server.port()), TcpProxy::Listen::tcp);
  TurnedLoop loop;
  int losses = 0;
  AsyncConnection async(loop.get(), "test", {.connected = {}, .disconnected = [&](const std::string&) { ++losses; }});
  proxy.cut_replies_after(100);
  async.open(through(proxy));
  BOOST_TEST(loop.until([&] { return losses == 1; }));
  BOOST_TEST(async.refusal() == "");
  BOOST_TEST(loop.until([&] { return async.connected(); }));

  proxy.cut_replies_after(100);
  Connection redis(through(proxy), patient);
  BOOST_CHECK_EXCEPTION(redis.call({"PING"}), ConnectionLost,
                        [](const ConnectionLost& lost) { return lost.why != Loss::login_refused; });
  BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
}

BOOST_AUTO_TEST_CASE(a_server_that_restarts_is_found_again) {
  RedisServer server(tls_server());
  Connection redis(trusting(server), patient);
  TurnedLoop loop;
  AsyncConnection async(loop.get(), "test", {});
  async.open(trusting(server));
  BOOST_REQUIRE(loop.until([&] { return async.connected(); }));
  redis.call({"PING"});
  server.restart();
  BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
  BOOST_TEST(loop.until([&] { return !async.connected(); }));
  BOOST_TEST(loop.until([&] { return async.connected(); }));
}

// After its handshake a server sends unrequested tickets for later sessions.
BOOST_AUTO_TEST_CASE(an_idle_connection_is_not_taken_for_one_that_ended) {
  RedisServer server(tls_server());
  Connection redis(trusting(server), patient);  // no name, no database: nothing is read but the handshake
  for (int i = 0; i < 100; ++i) BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
  BOOST_TEST(redis.connections() == 1u);
  server.kill9();
  BOOST_CHECK_THROW(redis.call({"PING"}), ConnectionLost);
}

BOOST_AUTO_TEST_CASE(a_wait_in_redis_can_be_ended_from_outside) {
  RedisServer server(tls_server());
  Connection redis(trusting(server), patient);
  int ends[2];
  BOOST_REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const UniqueFd ours(ends[0]), theirs(ends[1]);
  std::thread waker([&] {
    eventually([&] {
      const Reply info = server.command({"INFO", "clients"});
      return info.view().text().find("blocked_clients:1") != std::string_view::npos;
    });
    check("write", write(theirs.get(), "x", 1));
  });
  bool woken = false;
  const auto read_pipe = [&]() -> std::optional<std::chrono::milliseconds> {
    char byte;
    while (read(ours.get(), &byte, 1) > 0) woken = true;
    return 300ms;
  };
  BOOST_CHECK_THROW(
      redis.call_patiently({{"BLPOP", "nothing", "0"}}, {.longest = 20s, .wake_fd = ours.get(), .woken = read_pipe}),
      ConnectionLost);
  waker.join();
  BOOST_TEST(woken);
}

// A library in another program cannot count on a signal being ignored.
BOOST_AUTO_TEST_CASE(a_server_that_is_gone_raises_no_sigpipe) {
  RedisServer server(tls_server());
  BOOST_TEST(in_child([&] {
    signal(SIGPIPE, SIG_DFL);
    TcpProxy proxy(std::to_string(server.port()), TcpProxy::Listen::tcp);
    Connection redis(through(proxy), patient);
    redis.call({"PING"});
    for (int i = 0; i < 10; ++i) {
      proxy.cut_requests_after(1000);
      try {
        redis.call({"SET", "k", of_size(8'000'000)});
        return false;
      } catch (const ConnectionLost&) {
      }
    }
    return true;
  }));
}
