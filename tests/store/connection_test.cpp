#include "shared/redis/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <thread>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/localhost.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/scripted_server.hpp"
#include "tests/support/tcp_proxy.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const Connection::Timeouts patient{20s, 20s};
const Connection::Timeouts brief{20s, 300ms};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Why `command` was lost; empty if it was answered.
std::string loss_of(Connection& redis, const Command& command) {
  try {
    redis.call(command);
  } catch (const ConnectionLost& lost) {
    return lost.what();
  }
  return "";
}

std::string loss_at(const ScriptedServer& server, const Connection::Timeouts& timeouts = brief) {
  Connection redis(server.address(), timeouts);
  return loss_of(redis, {"PING"});
}

std::chrono::milliseconds time_of(const std::function<void()>& act) {
  const SteadyTime start = steady_now();
  act();
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_now() - start);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_command_is_answered_over_a_unix_socket) {
  RedisServer server;
  Connection redis(server.address(), patient);

  BOOST_TEST(!redis.connected());
  BOOST_TEST(redis.call({"SET", "k", "v"}).view().text() == "OK");
  BOOST_TEST(redis.connected());
  BOOST_TEST(server.get("k").value() == "v");
}

BOOST_AUTO_TEST_CASE(a_host_name_is_resolved, *boost::unit_test::precondition(localhost_is_known)) {
  RedisServer server({.tcp = true});
  RedisAddress by_name = server.address();
  by_name.host = "localhost";
  Connection redis(by_name, patient);
  BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
}

BOOST_AUTO_TEST_CASE(a_command_is_answered_over_tcp_by_number) {
  RedisServer server({.tcp = true});
  RedisAddress resolved = server.address();
  resolved.host = "no-such-host.invalid";
  resolved.numeric_hosts = {"127.0.0.1"};

  for (const RedisAddress& address : {server.address(), resolved}) {
    Connection redis(address, patient);
    BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
  }
}

BOOST_AUTO_TEST_CASE(each_address_of_a_host_is_tried) {
  RedisServer server({.tcp = true});
  RedisAddress address = server.address();
  address.numeric_hosts = {"127.0.0.77", "127.0.0.1"};  // the server listens on the second alone
  Connection redis(address, patient);

  BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
}

BOOST_AUTO_TEST_CASE(arguments_and_replies_are_bytes) {
  RedisServer server;
  Connection redis(server.address(), patient);
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);

  redis.call({"SET", bytes, bytes});

  BOOST_TEST((redis.call({"GET", bytes}).view().text() == bytes));
  BOOST_TEST(redis.call({"GET", ""}).view().is_nil());
}

BOOST_AUTO_TEST_CASE(a_value_of_many_megabytes_passes_both_ways) {
  RedisServer server;
  Connection redis(server.address(), patient);
  const std::string large(20'000'000, 'x');

  redis.call({"SET", "k", large});

  BOOST_TEST((redis.call({"GET", "k"}).view().text() == large));
}

BOOST_AUTO_TEST_CASE(a_pipeline_is_answered_in_order_however_long) {
  RedisServer server;
  Connection redis(server.address(), patient);
  std::vector<Command> commands;
  for (int i = 0; i < 20'000; ++i) commands.push_back({"ECHO", std::to_string(i) + std::string(200, '.')});

  const std::vector<Reply> replies = redis.pipeline(commands);

  BOOST_REQUIRE(replies.size() == commands.size());
  for (std::size_t i = 0; i < replies.size(); ++i) BOOST_REQUIRE(replies[i].view().text() == commands[i].args[1]);
  BOOST_TEST(redis.pipeline({}).empty());
}

BOOST_AUTO_TEST_CASE(an_error_reply_is_a_reply) {
  RedisServer server;
  Connection redis(server.address(), patient);
  redis.call({"SET", "k", "v"});

  const Reply reply = redis.call({"LPUSH", "k", "v"});

  BOOST_TEST(reply.view().error().starts_with("WRONGTYPE"));
  BOOST_TEST(redis.connected());
}

BOOST_AUTO_TEST_CASE(a_new_connection_authenticates_selects_and_names_itself) {
  RedisServer server({.password = "p@ss"});
  RedisAddress address = server.address();
  address.db = 3;
  Connection redis(address, patient, "brood-test");

  BOOST_TEST(redis.call({"CLIENT", "GETNAME"}).view().text() == "brood-test");
  const Reply info = redis.call({"CLIENT", "INFO"});
  BOOST_TEST(contains(std::string(info.view().text()), " db=3 "));
}

BOOST_AUTO_TEST_CASE(a_user_authenticates_with_its_password) {
  RedisServer server;
  server.command({"ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-client"});
  RedisAddress address = server.address();
  address.user = "app";
  address.password = "secret";
  Connection redis(address, patient, "a-name-that-the-acl-forbids");

  BOOST_TEST(redis.call({"ACL", "WHOAMI"}).view().text() == "app");
}

BOOST_AUTO_TEST_CASE(a_wrong_password_is_a_loss_in_the_servers_words) {
  RedisServer server({.password = "right"});
  RedisAddress address = server.address();
  address.password = "wrong";
  Connection redis(address, patient);

  BOOST_TEST(contains(loss_of(redis, {"SET", "k", "v"}), "WRONGPASS"));
  BOOST_TEST(!redis.connected());
  BOOST_TEST(server.size_of("k") == 0U);
}

BOOST_AUTO_TEST_CASE(a_database_that_is_not_there_is_a_loss_in_the_servers_words) {
  RedisServer server;
  RedisAddress address = server.address();
  address.db = 4'711;
  Connection redis(address, patient);

  BOOST_TEST(contains(loss_of(redis, {"SET", "k", "v"}), "DB index is out of range"));
}

BOOST_AUTO_TEST_CASE(a_full_server_says_so) {
  RedisServer server({.extra = {"--maxclients", "2"}});
  Connection first(server.address(), patient);
  first.call({"PING"});

  Connection bare(server.address(), patient);
  const Reply reply = bare.call({"PING"});
  Connection named(server.address(), patient, "name");

  BOOST_TEST((classify_error(reply.view().error()) == ErrorKind::not_applied_reconnect));
  BOOST_TEST(contains(loss_of(named, {"PING"}), "max number of clients"));
}

BOOST_AUTO_TEST_CASE(a_refused_socket_is_a_loss_at_once_and_names_the_server) {
  const TemporaryDirectory directory;
  Connection missing(RedisAddress::parse(directory / "nobody.sock"), patient);
  Connection refused(RedisAddress::parse("redis://127.0.0.1:" + std::to_string(free_port())), patient);

  BOOST_TEST(contains(loss_of(missing, {"PING"}), "nobody.sock: connect: No such file"));
  BOOST_TEST(contains(loss_of(refused, {"PING"}), "Connection refused"));
}

BOOST_AUTO_TEST_CASE(a_host_that_does_not_exist_is_a_loss) {
  Connection redis(RedisAddress::parse("redis://no-such-host.invalid"), patient);

  BOOST_TEST(contains(loss_of(redis, {"PING"}), "no-such-host.invalid"));
}

BOOST_AUTO_TEST_CASE(a_stopped_server_costs_the_deadline_and_no_more) {
  RedisServer server;
  Connection redis(server.address(), patient);
  redis.call({"PING"});
  redis.set_timeouts(brief);
  server.pause();

  const auto took = time_of([&] { BOOST_CHECK_THROW(redis.call({"PING"}), ConnectionLost); });

  BOOST_TEST(took.count() >= 300);
  BOOST_TEST(took.count() < 5'000);
  BOOST_TEST(!redis.connected());
  redis.set_timeouts(patient);
  server.resume();
  BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
}

BOOST_AUTO_TEST_CASE(a_stopped_server_accepts_but_sends_no_greeting) {
  RedisServer server;
  server.pause();
  Connection redis(server.address(), {300ms, 20s}, "name");

  const auto took = time_of([&] { BOOST_CHECK_THROW(redis.call({"PING"}), ConnectionLost); });

  BOOST_TEST(took.count() < 5'000);
}

BOOST_AUTO_TEST_CASE(a_command_that_timed_out_may_be_applied_and_its_late_reply_is_dropped) {
  RedisServer server;
  Connection redis(server.address(), patient);
  redis.call({"PING"});
  redis.set_timeouts(brief);
  server.pause();
  BOOST_CHECK_THROW(redis.call({"INCR", "counter"}), ConnectionLost);
  redis.set_timeouts(patient);
  server.resume();

  BOOST_TEST(redis.call({"ECHO", "mine"}).view().text() == "mine");
  BOOST_TEST(eventually([&] { return server.get("counter") == "1"; }));
  BOOST_TEST(redis.call({"ECHO", "mine too"}).view().text() == "mine too");
}

BOOST_AUTO_TEST_CASE(a_reply_that_was_cut_off_is_a_loss_and_the_command_was_applied_once) {
  RedisServer server;
  for (const auto listen : {TcpProxy::Listen::unix_socket, TcpProxy::Listen::tcp}) {
    server.flush();
    TcpProxy proxy(server.socket_path(), listen);
    Connection redis(proxy.address(), patient);
    redis.call({"PING"});
    for (const std::size_t bytes : {0, 1, 3}) {
      proxy.cut_replies_after(bytes);
      BOOST_TEST(loss_of(redis, {"INCR", "counter"}) != "");
      BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
    }
    BOOST_TEST(server.get("counter").value() == "3");
  }
}

BOOST_AUTO_TEST_CASE(a_request_that_was_cut_off_is_a_loss_and_is_never_sent_again) {
  RedisServer server;
  TcpProxy proxy(server.socket_path());
  Connection redis(proxy.address(), patient);
  redis.call({"PING"});

  proxy.cut_requests_after(10);

  BOOST_TEST(loss_of(redis, {"INCR", "counter"}) != "");
  BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
  BOOST_TEST(server.size_of("counter") == 0U);
  BOOST_TEST(proxy.accepted() == 2U);
}

BOOST_AUTO_TEST_CASE(bytes_may_come_one_by_one) {
  RedisServer server;
  TcpProxy proxy(server.socket_path());
  proxy.split_into(1);
  Connection redis(proxy.address(), patient, "name");

  redis.call({"RPUSH", "l", "one", "", "three"});
  const Reply reply = redis.call({"LRANGE", "l", "0", "-1"});

  BOOST_REQUIRE(reply.view().size() == 3U);
  BOOST_TEST(reply.view()[0].text() == "one");
  BOOST_TEST(reply.view()[1].text() == "");
  BOOST_TEST(reply.view()[2].text() == "three");
}

BOOST_AUTO_TEST_CASE(the_deadline_is_for_the_whole_reply_however_steadily_it_drips) {
  ScriptedServer server("*1\r\n*1\r\n", {.forever = false});
  ScriptedServer dripping("a", {.wait_for_request = true, .hang_up = false, .forever = true});
  Connection redis(dripping.address(), patient);

  // "aaaa..." is not the protocol; "$9999999\r\n" begins a reply that drips for hours.
  BOOST_TEST(contains(loss_of(redis, {"PING"}), "not the Redis protocol"));
  BOOST_TEST(contains(loss_at(server), "deadline"));

  ScriptedServer endless("$1000000\r\n", {.forever = true});
  const auto took = time_of([&] { BOOST_TEST(contains(loss_at(endless), "deadline")); });
  BOOST_TEST(took.count() < 5'000);
}

BOOST_AUTO_TEST_CASE(what_a_node_tells_of_its_cluster_is_bounded) {
  const std::size_t size = 5 << 20;
  ScriptedServer server("$" + std::to_string(size) + "\r\n" + std::string(size, 'x') + "\r\n");
  Connection redis(server.address(), patient);
  BOOST_TEST(redis.call({"GET", "k"}).view().text().size() == size);
  redis.disconnect();
  BOOST_TEST(contains(loss_of(redis, {"CLUSTER", "NODES"}), "larger than 4 MB"));
}

BOOST_AUTO_TEST_CASE(a_large_value_may_take_longer_than_the_deadline_as_long_as_it_moves) {
  RedisServer server;
  const std::string value(3 << 20, 'x');
  for (const auto listen : {TcpProxy::Listen::unix_socket, TcpProxy::Listen::tcp}) {
    TcpProxy proxy(server.socket_path(), listen);
    Connection redis(proxy.address(), {20s, 1s});
    redis.call({"PING"});
    proxy.limit_rate(1 << 20);
    std::atomic<std::uint64_t> bytes = 0;
    redis.count_bytes_in(&bytes);

    const auto took = time_of([&] {
      BOOST_TEST(redis.call({"SET", "k", value}).view().text() == "OK");
      BOOST_TEST((redis.call({"GET", "k"}).view().text() == value));
      // The same in a patient call.
      BOOST_TEST((redis.call_patiently({{"GET", "k"}}, {.longest = 1s}).front().view().text() == value));
    });

    BOOST_TEST(took.count() > 5'000);
    BOOST_TEST(bytes.load() >= 3 * value.size());
  }
}

BOOST_AUTO_TEST_CASE(a_line_that_falls_silent_in_the_midst_of_a_value_costs_the_deadline_and_no_more) {
  RedisServer server;
  server.command({"SET", "k", std::string(3 << 20, 'x')});
  TcpProxy proxy(server.socket_path(), TcpProxy::Listen::tcp);
  Connection redis(proxy.address(), {20s, 1s});
  redis.call({"PING"});
  proxy.limit_rate(1 << 20);
  std::thread silence([&] {
    eventually([&] { return proxy.reply_bytes() > (1 << 20); });
    proxy.stall_replies();
  });

  const auto took = time_of([&] { BOOST_TEST(contains(loss_of(redis, {"GET", "k"}), "deadline")); });

  silence.join();
  BOOST_TEST(took.count() < 10'000);
}

BOOST_AUTO_TEST_CASE(a_deadline_that_is_final_does_not_move) {
  RedisServer server;
  server.command({"SET", "k", std::string(3 << 20, 'x')});
  TcpProxy proxy(server.socket_path(), TcpProxy::Listen::tcp);
  proxy.limit_rate(1 << 20);
  Connection redis(proxy.address(), patient);
  redis.call({"PING"});
  redis.set_timeouts({.connect = 20s, .command = 500ms, .is_final = true});
  BOOST_TEST(contains(loss_of(redis, {"GET", "k"}), "deadline"));
}

BOOST_AUTO_TEST_CASE(a_large_value_for_a_stopped_server_costs_the_deadline_too) {
  RedisServer server({.tcp = true});
  for (const bool tcp : {false, true}) {
    RedisAddress address = server.address();
    if (!tcp) address = RedisAddress::parse("unix://" + server.socket_path());
    Connection redis(address, patient);
    redis.call({"PING"});
    redis.set_timeouts({20s, 1s});
    server.pause();
    const auto took = time_of([&] { BOOST_TEST(loss_of(redis, {"SET", "k", std::string(64 << 20, 'x')}) != ""); });
    BOOST_TEST(took.count() < 30'000);  // without a deadline it would be for ever
    server.resume();
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_restarted_is_found_before_the_command_is_sent) {
  RedisServer server({.append_only = true});
  Connection redis(server.address(), patient);
  redis.call({"SET", "k", "v"});

  server.restart();

  BOOST_TEST(redis.call({"GET", "k"}).view().text() == "v");
}

BOOST_AUTO_TEST_CASE(a_server_that_drops_an_idle_client_costs_no_command) {
  RedisServer server;
  Connection redis(server.address(), patient);
  redis.call({"PING"});

  server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});

  BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
}

BOOST_AUTO_TEST_CASE(unrequested_bytes_are_never_taken_for_a_reply) {
  ScriptedServer server("+PONG\r\n+EXTRA\r\n");
  Connection redis(server.address(), patient);

  for (int i = 1; i <= 3; ++i) {
    BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
    BOOST_TEST(server.accepted() == i);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_the_protocol_is_a_loss) {
  const std::string deep = [] {
    std::string arrays;
    for (int i = 0; i < 10'000; ++i) arrays += "*1\r\n";
    return arrays + ":1\r\n";
  }();
  for (const std::string& speech :
       {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("$-5\r\n"), std::string("*-7\r\n"),
        std::string("*2147483647\r\n"), std::string("*99999999999\r\n"), std::string("*16777217\r\n"),
        std::string(64, '\0'), std::string(":12x\r\n"), std::string("$x\r\n"), std::string(">1\r\n+push\r\n"), deep}) {
    const std::string loss = loss_at(ScriptedServer(speech), patient);
    BOOST_TEST(loss != "", speech.substr(0, 30));
    BOOST_TEST(!contains(loss, "deadline"), speech.substr(0, 30));
  }
}

BOOST_AUTO_TEST_CASE(a_reply_that_never_ends_costs_the_deadline) {
  for (const char* speech : {"$99999999999\r\n", "$5\r\nab", "*3\r\n:1\r\n", ":1", "+OK\r"})
    BOOST_TEST(contains(loss_at(ScriptedServer(speech)), "deadline"), speech);
}

BOOST_AUTO_TEST_CASE(a_server_that_hangs_up_is_a_loss_at_once) {
  for (const char* speech : {"", "+O", "*2\r\n:1\r\n"}) {
    ScriptedServer server(speech, {.hang_up = true});
    Connection redis(server.address(), patient);
    BOOST_TEST(contains(loss_of(redis, {"PING"}), "closed the connection"), speech);
  }
}

BOOST_AUTO_TEST_CASE(waiting_ends_with_the_descriptor_it_was_told_to_watch) {
  RedisServer server;
  for (const bool pipe : {true, false}) {
    int ends[2];
    check("pipe", pipe ? ::pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    UniqueFd reading(ends[0]), writing(ends[1]);
    // Unread bytes are not the end of the file.
    BOOST_TEST(write(writing.get(), "stay", 4) == 4);
    Connection redis(server.address(), patient);
    redis.give_up_on_eof_of(reading.get());
    BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");

    std::thread parent([&] {
      eventually([&] {
        return contains(std::string(server.command({"INFO", "clients"}).view().text()), "blocked_clients:1");
      });
      writing.reset();
    });
    const auto took = time_of([&] {
      BOOST_TEST(contains(loss_of(redis, {"BLPOP", "empty", "0"}), "supervisor is gone"));
    });
    parent.join();

    BOOST_TEST(took.count() < 10'000);
    BOOST_TEST(!redis.connected());
    char unread[8];
    BOOST_TEST(read(reading.get(), unread, sizeof unread) == 4);
    redis.give_up_on_eof_of(-1);
    BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
  }
}

BOOST_AUTO_TEST_CASE(a_disconnected_connection_connects_anew) {
  RedisServer server;
  Connection redis(server.address(), patient);
  const std::int64_t first = redis.call({"CLIENT", "ID"}).view().integer();

  redis.disconnect();

  BOOST_TEST(!redis.connected());
  BOOST_TEST(redis.call({"CLIENT", "ID"}).view().integer() != first);
}

BOOST_AUTO_TEST_CASE(a_connection_may_be_moved) {
  RedisServer server;
  Connection first(server.address(), patient);
  first.call({"PING"});

  Connection second = std::move(first);

  BOOST_TEST(second.connected());
  BOOST_TEST(second.call({"PING"}).view().text() == "PONG");
}
