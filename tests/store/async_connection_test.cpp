#include "shared/redis/async_connection.hpp"

#include <boost/test/unit_test.hpp>
#include <optional>

#include "shared/redis/connection.hpp"
#include "tests/store/async_answer.hpp"
#include "tests/store/opened_connection.hpp"
#include "tests/store/turned_loop.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/scripted_server.hpp"
#include "tests/support/tcp_proxy.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

BOOST_AUTO_TEST_CASE(it_connects_reports_that_and_answers) {
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

BOOST_FIXTURE_TEST_CASE(pipelined_commands_are_answered_in_order, OpenedConnection) {
  std::vector<std::string> answers;
  for (int i = 0; i < 5'000; ++i)
    redis.send({"ECHO", std::to_string(i)}, 10s, [&](Result r) { answers.emplace_back(r.reply.view().text()); });
  BOOST_TEST(answers.empty());
  BOOST_TEST(loop.until([&] { return answers.size() == 5'000; }));

  for (int i = 0; i < 5'000; ++i) BOOST_REQUIRE(answers[i] == std::to_string(i));
}

BOOST_FIXTURE_TEST_CASE(commands_sent_together_are_answered_together, OpenedConnection) {
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

BOOST_FIXTURE_TEST_CASE(large_values_pass_both_ways, OpenedConnection) {
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

BOOST_FIXTURE_TEST_CASE(a_server_that_stops_reading_cannot_make_us_hoard, OpenedConnection) {
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

BOOST_AUTO_TEST_CASE(an_unrequested_reply_costs_the_connection) {
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
    Answer reached;  // a connection may open before the proxy has connected to the server
    connection.send({"PING"}, 10s, reached.keep());
    BOOST_REQUIRE(loop.until([&] { return reached && reached.result->ok(); }));
    former.command({"REPLICAOF", "127.0.0.1", "1"});
    address.point_at(present.socket_path());

    Answer refused;
    std::string_view(writes) == "SET" ? connection.send({"SET", "k", "v"}, 10s, refused.keep())
                                      : connection.send({"INCR", "k"}, 10s, refused.keep());
    BOOST_REQUIRE(loop.until([&] { return refused && witness.connects >= 2; }));

    BOOST_TEST(contains(refused.result->why(), "READONLY"));
    BOOST_REQUIRE(!witness.losses.empty());  // two, if the address still led there
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

BOOST_FIXTURE_TEST_CASE(what_is_published_is_heard_beside_the_answers_until_the_connection_is_lost, OpenedConnection) {
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
