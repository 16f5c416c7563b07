#include "shared/redis/async_connection.hpp"

#include <uv.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <optional>
#include <thread>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "tests/store/turned_loop.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/scripted_server.hpp"
#include "tests/support/tcp_proxy.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

// A connection with a record of what it said.
struct Witness {
  int connects = 0;
  std::vector<std::string> losses;
  AsyncConnection::Events events{[this] { ++connects; }, [this](const std::string& why) { losses.push_back(why); }};
};

// Keeps the result of one command.
struct Answer {
  std::optional<Result> result;
  AsyncConnection::Callback keep() {
    return [this](Result r) {
      BOOST_TEST(!result.has_value());  // never called twice
      result = std::move(r);
    };
  }
  explicit operator bool() const { return result.has_value(); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(it_connects_says_so_and_answers) {
  TurnedLoop loop;
  RedisServer server({.password = "p"});
  Witness witness;
  AsyncConnection redis(loop.get(), "brood-test", witness.events);
  RedisAddress address = server.address();
  address.db = 2;

  redis.open(address);
  BOOST_TEST(!redis.connected());
  BOOST_TEST(loop.until([&] { return witness.connects == 1; }));
  BOOST_TEST(redis.connected());
  Answer info;
  redis.send({"CLIENT", "INFO"}, 10s, info.keep());
  BOOST_TEST(loop.until([&] { return bool(info); }));

  BOOST_TEST(info.result->ok());
  BOOST_TEST(contains(std::string(info.result->reply.view().text()), " name=brood-test "));
  BOOST_TEST(contains(std::string(info.result->reply.view().text()), " db=2 "));
  BOOST_TEST(witness.losses.empty());
}

BOOST_AUTO_TEST_CASE(it_connects_over_tcp_to_whichever_number_answers) {
  TurnedLoop loop;
  RedisServer server({.tcp = true});
  Witness witness;
  AsyncConnection redis(loop.get(), "", witness.events);
  RedisAddress address = server.address();
  address.host = "no-such-host.invalid";
  address.numeric_hosts = {"127.0.0.77", "127.0.0.1"};

  redis.open(address);

  BOOST_TEST(loop.until([&] { return redis.connected(); }));
  BOOST_TEST(witness.losses.empty());
}

BOOST_AUTO_TEST_CASE(a_host_name_is_never_looked_up) {
  TurnedLoop loop;
  Witness witness;
  AsyncConnection redis(loop.get(), "", witness.events);

  redis.open(RedisAddress::parse("redis://localhost"));

  BOOST_TEST(loop.until([&] { return witness.losses.size() == 1; }));
  BOOST_TEST(contains(witness.losses.front(), "localhost"));
}

BOOST_AUTO_TEST_CASE(pipelined_commands_are_answered_in_order) {
  TurnedLoop loop;
  RedisServer server;
  AsyncConnection redis(loop.get(), "", {});
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

  std::vector<std::string> answers;
  for (int i = 0; i < 5'000; ++i)
    redis.send({"ECHO", std::to_string(i)}, 10s, [&](Result r) { answers.emplace_back(r.reply.view().text()); });
  BOOST_TEST(answers.empty());
  BOOST_TEST(loop.until([&] { return answers.size() == 5'000; }));

  for (int i = 0; i < 5'000; ++i) BOOST_REQUIRE(answers[i] == std::to_string(i));
}

BOOST_AUTO_TEST_CASE(commands_sent_together_are_answered_together) {
  TurnedLoop loop;
  RedisServer server;
  AsyncConnection redis(loop.get(), "", {});
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

  std::optional<std::vector<Result>> results, nothing;
  redis.send_all({{"SET", "k", "v"}, {"LPUSH", "k", "x"}, {"GET", "k"}}, 10s, [&](auto r) { results = std::move(r); });
  redis.send_all({}, 10s, [&](auto r) { nothing = std::move(r); });
  BOOST_TEST(!nothing);
  BOOST_TEST(loop.until([&] { return results && nothing; }));

  BOOST_REQUIRE(results->size() == 3U);
  BOOST_TEST((*results)[0].ok());
  BOOST_TEST(!(*results)[1].ok());
  BOOST_TEST((*results)[1].why().starts_with("WRONGTYPE"));
  BOOST_TEST((*results)[2].reply.view().text() == "v");
  BOOST_TEST(nothing->empty());
}

BOOST_AUTO_TEST_CASE(large_values_pass_both_ways) {
  TurnedLoop loop;
  RedisServer server;
  AsyncConnection redis(loop.get(), "", {});
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));
  const std::string large(20'000'000, 'x');

  Answer set, get;
  redis.send({"SET", "k", large}, 20s, set.keep());
  redis.send({"GET", "k"}, 20s, get.keep());
  BOOST_TEST(loop.until([&] { return set && get; }));

  BOOST_TEST(set.result->ok());
  BOOST_TEST((get.result->reply.view().text() == large));
}

BOOST_AUTO_TEST_CASE(a_command_without_a_connection_fails_on_the_next_turn) {
  TurnedLoop loop;
  AsyncConnection redis(loop.get(), "", {});

  Answer answer;
  redis.send({"PING"}, 10s, answer.keep());
  BOOST_TEST(!answer);
  BOOST_TEST(loop.until([&] { return bool(answer); }));

  BOOST_TEST(contains(answer.result->why(), "not connected"));
}

BOOST_AUTO_TEST_CASE(a_refused_socket_is_reported_once_and_tried_until_it_answers) {
  TurnedLoop loop;
  RedisServer server({.tcp = true});
  server.kill9();
  for (const RedisAddress& address : {server.address(), RedisAddress::parse(server.socket_path())}) {
    Witness witness;
    AsyncConnection redis(loop.get(), "name", witness.events);
    redis.open(address);

    BOOST_TEST(loop.until([&] { return !witness.losses.empty(); }));
    BOOST_TEST(contains(witness.losses.front(), "refused"));
    BOOST_TEST(!loop.within(500ms, [&] { return witness.losses.size() > 1; }));
    server.restart();

    BOOST_TEST(loop.until([&] { return witness.connects == 1; }));
    BOOST_TEST(witness.losses.size() == 1U);
    server.kill9();
  }
}

BOOST_AUTO_TEST_CASE(a_wrong_password_is_reported_in_the_servers_words) {
  TurnedLoop loop;
  RedisServer server({.password = "right"});
  Witness witness;
  AsyncConnection redis(loop.get(), "name", witness.events);
  RedisAddress address = server.address();
  address.password = "wrong";

  redis.open(address);

  BOOST_TEST(loop.until([&] { return !witness.losses.empty(); }));
  BOOST_TEST(contains(witness.losses.front(), "WRONGPASS"));
  BOOST_TEST(witness.connects == 0);
  BOOST_TEST(!redis.connected());
}

BOOST_AUTO_TEST_CASE(a_killed_server_fails_what_is_unanswered_and_is_found_again) {
  TurnedLoop loop;
  RedisServer server({.append_only = true});
  Witness witness;
  AsyncConnection redis(loop.get(), "name", witness.events);
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

  Answer blocked;
  redis.send({"BLPOP", "empty", "0"}, 60s, blocked.keep());
  BOOST_TEST(loop.until([&] {
    return contains(std::string(server.command({"INFO", "clients"}).view().text()), "blocked_clients:1");
  }));
  server.kill9();
  BOOST_TEST(loop.until([&] { return blocked && !witness.losses.empty(); }));
  BOOST_TEST(!blocked.result->error.empty());
  BOOST_TEST(!redis.connected());
  server.restart();

  BOOST_TEST(loop.until([&] { return witness.connects == 2; }));
  Answer ping;
  redis.send({"PING"}, 10s, ping.keep());
  BOOST_TEST(loop.until([&] { return bool(ping); }));
  BOOST_TEST(ping.result->ok());
}

BOOST_AUTO_TEST_CASE(a_passed_deadline_costs_the_connection_and_fails_all_that_waits) {
  TurnedLoop loop;
  RedisServer server;
  Witness witness;
  AsyncConnection redis(loop.get(), "name", witness.events);
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));
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

BOOST_AUTO_TEST_CASE(a_deadline_does_not_end_a_later_command) {
  TurnedLoop loop;
  RedisServer server;
  Witness witness;
  AsyncConnection redis(loop.get(), "", witness.events);
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

  Answer quick, slow;
  redis.send({"PING"}, 2s, quick.keep());
  BOOST_TEST(loop.until([&] { return bool(quick); }));
  redis.send({"BLPOP", "empty", "3"}, 20s, slow.keep());
  BOOST_TEST(loop.until([&] { return bool(slow); }));

  BOOST_TEST(slow.result->ok());
  BOOST_TEST(witness.losses.empty());
}

BOOST_AUTO_TEST_CASE(a_deadline_that_was_met_leaves_the_next_one_in_force) {
  TurnedLoop loop;
  RedisServer server;
  AsyncConnection redis(loop.get(), "", {});
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

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

BOOST_AUTO_TEST_CASE(a_reply_that_came_while_the_loop_stood_still_is_in_time) {
  TurnedLoop loop;
  RedisServer server;
  Witness witness;
  AsyncConnection redis(loop.get(), "", witness.events);
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

  Answer answer;
  redis.send({"SET", "k", "v"}, 100ms, answer.keep());
  const SteadyTime overdue = steady_now() + 200ms;
  BOOST_TEST(eventually([&] { return server.get("k") == "v" && steady_now() > overdue; }));
  loop.turn();

  BOOST_REQUIRE(bool(answer));
  BOOST_TEST(answer.result->ok());
  // Nor does the stillness before it count against a command.
  std::this_thread::sleep_until(std::chrono::steady_clock::now() + 2500ms);
  Answer later;
  redis.send({"PING"}, 2s, later.keep());
  BOOST_TEST(loop.until([&] { return bool(later); }));
  BOOST_TEST(later.result->ok());
}

BOOST_AUTO_TEST_CASE(a_reply_may_come_byte_by_byte_and_may_be_cut_off) {
  TurnedLoop loop;
  RedisServer server;
  TcpProxy proxy(server.socket_path());
  proxy.split_into(1);
  Witness witness;
  AsyncConnection redis(loop.get(), "name", witness.events);
  redis.open(proxy.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

  Answer whole, cut;
  redis.send({"ECHO", "in pieces"}, 20s, whole.keep());
  BOOST_TEST(loop.until([&] { return bool(whole); }));
  BOOST_TEST(whole.result->reply.view().text() == "in pieces");
  proxy.cut_replies_after(3);
  redis.send({"INCR", "counter"}, 20s, cut.keep());
  BOOST_TEST(loop.until([&] { return cut && witness.connects == 2; }));

  BOOST_TEST(!cut.result->error.empty());
  BOOST_TEST(server.get("counter").value() == "1");
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
  connection.send({"PING"}, 1s, ping.keep());  // small ones wait behind it
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

BOOST_AUTO_TEST_CASE(a_server_that_stops_reading_cannot_make_us_hoard) {
  TurnedLoop loop;
  RedisServer server;
  AsyncConnection redis(loop.get(), "", {});
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));
  server.pause();

  const Command large{"SET", "k", std::string(10'000'000, 'x')};
  Answer answers[9];
  for (Answer& answer : answers) redis.send(large, 60s, answer.keep());
  BOOST_TEST(loop.until([&] { return bool(answers[8]); }));
  BOOST_TEST(contains(answers[8].result->error, "64 MB"));
  server.resume();

  BOOST_TEST(loop.until([&] { return bool(answers[5]); }));
  BOOST_TEST(answers[5].result->ok());
}

BOOST_AUTO_TEST_CASE(what_nobody_asked_for_costs_the_connection) {
  TurnedLoop loop;
  ScriptedServer server("+PONG\r\n+PONG\r\n");
  Witness witness;
  AsyncConnection redis(loop.get(), "", witness.events);
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

  Answer answer;
  redis.send({"PING"}, 10s, answer.keep());
  BOOST_TEST(loop.until([&] { return !witness.losses.empty(); }));

  BOOST_TEST(answer.result->ok());
  BOOST_TEST(contains(witness.losses.front(), "nobody asked"));
}

BOOST_AUTO_TEST_CASE(a_server_that_answers_as_a_replica_is_left_for_the_one_that_is_the_master_now) {
  RedisServer former, present;
  present.command({"SET", "is", "present"});
  for (const char* writes : {"SET", "INCR"}) {
    TcpProxy address(former.socket_path());
    TurnedLoop loop;
    Witness witness;
    AsyncConnection connection(loop.get(), "", witness.events);
    connection.open(address.address());
    BOOST_REQUIRE(loop.until([&] { return witness.connects == 1; }));
    Answer reached;  // a connection may stand before the proxy has passed it on
    connection.send({"PING"}, 10s, reached.keep());
    BOOST_REQUIRE(loop.until([&] { return reached && reached.result->ok(); }));
    former.command({"REPLICAOF", "127.0.0.1", "1"});
    address.point_at(present.socket_path());

    Answer refused;
    std::string_view(writes) == "SET" ? connection.send({"SET", "k", "v"}, 10s, refused.keep())
                                      : connection.send({"INCR", "k"}, 10s, refused.keep());
    BOOST_REQUIRE(loop.until([&] { return refused && witness.connects >= 2; }));

    BOOST_TEST(contains(refused.result->why(), "READONLY"));
    BOOST_REQUIRE(!witness.losses.empty());  // two, when the address still led there
    BOOST_TEST(contains(witness.losses[0], "READONLY"));
    Answer answer;
    connection.send({"GET", "is"}, 10s, answer.keep());
    BOOST_REQUIRE(loop.until([&] { return bool(answer); }));
    BOOST_TEST(answer.result->reply.view().text() == "present");
    former.command({"REPLICAOF", "NO", "ONE"});
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_is_judged_unfit_is_a_failed_connect) {
  RedisServer redis;
  TurnedLoop loop;
  Witness witness;
  int judged = 0;
  witness.events.judge = [&](const Result& info) {
    BOOST_TEST(contains(std::string(info.reply.view().text()), "redis_version"));
    if (++judged < 3) throw ConnectionLost("not this one");
  };
  AsyncConnection connection(loop.get(), "name", witness.events);

  connection.open(redis.address());

  BOOST_REQUIRE(loop.until([&] { return witness.connects == 1; }));
  BOOST_TEST(judged == 3);
  BOOST_REQUIRE(witness.losses.size() == 1U);
  BOOST_TEST(contains(witness.losses[0], "not this one"));
}

BOOST_AUTO_TEST_CASE(a_server_that_accepts_and_hangs_up_is_a_failed_connect) {
  TurnedLoop loop;
  ScriptedServer server("-ERR max number of clients reached\r\n", {.wait_for_request = false, .hang_up = true});
  Witness witness;
  AsyncConnection redis(loop.get(), "name", witness.events);

  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return server.accepted() >= 3; }));

  BOOST_TEST(witness.connects == 0);
  BOOST_REQUIRE(witness.losses.size() == 1U);
  BOOST_TEST(contains(witness.losses.front(), "max number of clients"));
}

BOOST_AUTO_TEST_CASE(a_failing_server_is_tried_ever_more_rarely) {
  TurnedLoop loop;
  ScriptedServer server("", {.wait_for_request = false, .hang_up = true});
  AsyncConnection redis(loop.get(), "name", {});

  redis.open(server.address());

  // Rests of 50, 100, 200, 400, 800 ms, each cut by up to half: at most 7 tries in a second and a half.
  BOOST_TEST(!loop.within(1'500ms, [&] { return server.accepted() > 7; }));
  BOOST_TEST(loop.until([&] { return server.accepted() >= 3; }));
}

BOOST_AUTO_TEST_CASE(closing_fails_what_is_unanswered_and_connects_no_more) {
  TurnedLoop loop;
  RedisServer server;
  Witness witness;
  AsyncConnection redis(loop.get(), "", witness.events);
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

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

BOOST_AUTO_TEST_CASE(a_callback_may_send_and_open_and_close) {
  TurnedLoop loop;
  RedisServer server;
  AsyncConnection redis(loop.get(), "", {});
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

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
  // From an answer, from a failure, from each event.
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

BOOST_AUTO_TEST_CASE(an_exception_of_a_callback_costs_the_connection_and_is_the_reason) {
  TurnedLoop loop;
  RedisServer server;
  Witness witness;
  AsyncConnection redis(loop.get(), "", witness.events);
  redis.open(server.address());
  BOOST_TEST(loop.until([&] { return redis.connected(); }));

  Answer next;
  redis.send({"PING"}, 10s, [](Result r) { r.reply.view().integer(); });
  redis.send({"PING"}, 10s, next.keep());
  BOOST_TEST(loop.until([&] { return witness.connects == 2; }));

  BOOST_REQUIRE(witness.losses.size() == 1U);
  BOOST_TEST(contains(witness.losses.front(), "expected"));
  BOOST_TEST(!next.result->error.empty());
}

BOOST_AUTO_TEST_CASE(what_is_published_is_heard_beside_the_answers_until_the_connection_is_lost) {
  TurnedLoop loop;
  RedisServer server;
  Witness witness;
  AsyncConnection redis(loop.get(), "name", witness.events);
  redis.open(server.address());
  BOOST_REQUIRE(loop.until([&] { return redis.connected(); }));
  std::vector<std::string> heard;
  const auto hear = [&](ReplyView message) { heard.emplace_back(message.text()); };

  Answer before, subscribed, pong;
  redis.send({"ECHO", "asked before"}, 10s, before.keep());
  redis.subscribe("news", 10s, subscribed.keep(), hear);
  BOOST_REQUIRE(loop.until([&] { return before && subscribed; }));
  BOOST_TEST(before.result->reply.view().text() == "asked before");
  BOOST_TEST(subscribed.result->ok());
  for (const char* text : {"one", "two"}) BOOST_TEST(server.integer({"PUBLISH", "news", text}) == 1);
  server.command({"PUBLISH", "other", "none of ours"});
  redis.send({"PING"}, 10s, pong.keep());
  BOOST_TEST(loop.until([&] { return pong && heard.size() == 2; }));
  BOOST_TEST(heard == (std::vector<std::string>{"one", "two"}), boost::test_tools::per_element());
  BOOST_TEST(pong.result->reply.view()[0].text() == "pong");

  // A new connection is subscribed to nothing, and answers as any.
  server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  BOOST_REQUIRE(loop.until([&] { return witness.connects == 2; }));
  BOOST_TEST(server.integer({"PUBLISH", "news", "three"}) == 0);
  server.command({"RPUSH", "list", "message", "news", "no news"});
  Answer list, again;
  redis.send({"LRANGE", "list", "0", "-1"}, 10s, list.keep());
  redis.subscribe("news", 10s, again.keep(), hear);
  BOOST_REQUIRE(loop.until([&] { return list && again; }));
  BOOST_TEST(list.result->reply.view().size() == 3U);
  server.command({"PUBLISH", "news", "four"});
  BOOST_TEST(loop.until([&] { return heard.size() == 3; }));
  BOOST_TEST(heard.back() == "four");
}

BOOST_AUTO_TEST_CASE(a_subscription_may_be_refused_and_then_brings_nothing) {
  TurnedLoop loop;
  RedisServer server;
  server.command({"ACL", "SETUSER", server.user(), "-subscribe"});
  AsyncConnection redis(loop.get(), "", {});
  redis.open(server.address());
  BOOST_REQUIRE(loop.until([&] { return redis.connected(); }));
  server.command({"RPUSH", "list", "message", "news", "no news"});

  Answer subscribed, list;
  redis.subscribe("news", 10s, subscribed.keep(), [](ReplyView) { BOOST_ERROR("heard"); });
  redis.send({"LRANGE", "list", "0", "-1"}, 10s, list.keep());
  BOOST_REQUIRE(loop.until([&] { return subscribed && list; }));

  BOOST_TEST(contains(subscribed.result->why(), "NOPERM"));
  BOOST_TEST(list.result->reply.view().size() == 3U);
}

BOOST_AUTO_TEST_CASE(who_hears_a_message_may_destroy_the_connection) {
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
