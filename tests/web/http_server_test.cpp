#include "supervisor/web/http/http_server.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/http_endpoint.hpp"
#include "supervisor/web/listener.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test_loop.hpp"

using namespace brood;

namespace {

using namespace std::chrono_literals;

const std::string one_request = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n";

// A server and its clients, which never wait.
struct ServedSocket : TestLoop {
  explicit ServedSocket(HttpServer::Handler handler, HttpServer::Limits limits = {})
      : path(directory.path() + "/http.sock"),
        server(loop, listen_for_pages(ListenAddress::parse("unix:" + path), 0600), std::move(handler), limits) {}

  UniqueFd connect_client() {
    UniqueFd client(check("socket", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    check("connect", connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    return client;
  }

  TemporaryDirectory directory;
  std::string path;
  HttpServer server;
};

void say(const UniqueFd& client, const std::string& text) {
  BOOST_REQUIRE_EQUAL(send(client.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

// The bytes that have come so far; `ended` if the other end has closed.
struct Heard {
  std::string text;
  bool ended = false;

  bool hear(const UniqueFd& client) {
    char bytes[64 * 1024];
    for (;;) {
      const ssize_t size = recv(client.get(), bytes, sizeof bytes, 0);
      if (size <= 0) return ended = ended || size == 0;
      text.append(bytes, static_cast<std::size_t>(size));
    }
  }
};

std::shared_ptr<const std::string> piece_of(char letter, std::size_t size) {
  return std::make_shared<const std::string>(size, letter);
}

}  // namespace

BOOST_AUTO_TEST_CASE(requests_that_came_at_once_are_answered_one_a_turn) {
  int answered = 0;
  ServedSocket served([&](const HttpRequest&, const HttpServer::Reply& reply) {
    ++answered;
    reply({.body = "a"});
  });
  const UniqueFd client = served.connect_client();
  std::string many;
  for (int i = 0; i < 50; ++i) many += one_request;
  say(client, many);

  int most_a_turn = 0;
  BOOST_TEST(served.run_until([&, before = 0]() mutable {
    most_a_turn = std::max(most_a_turn, answered - before);
    before = answered;
    return answered == 50;
  }));

  BOOST_TEST(most_a_turn == 1);
}

BOOST_AUTO_TEST_CASE(a_stream_has_no_length_and_what_comes_late_is_the_newest) {
  std::vector<HttpServer::Reply> replies;
  ServedSocket served([&](const HttpRequest&, const HttpServer::Reply& reply) { replies.push_back(reply); });
  const UniqueFd client = served.connect_client();
  say(client, one_request);
  BOOST_REQUIRE(served.run_until([&] { return !replies.empty(); }));

  BOOST_TEST(replies[0].begin_stream({.type = "text/event-stream", .body = "first"}));
  for (const char letter : {'a', 'b', 'c', 'd'}) BOOST_TEST(replies[0].send(piece_of(letter, 2'000'000)));
  replies[0].keep_alive(piece_of('!', 1));  // not needed while something is on its way

  Heard heard;
  BOOST_TEST(served.run_until([&] {
    heard.hear(client);
    return heard.text.ends_with(std::string(2'000'000, 'd'));
  }));
  const std::size_t body = heard.text.find("\r\n\r\n") + 4;
  BOOST_TEST(heard.text.find("Content-Length") == std::string::npos);
  BOOST_TEST((heard.text.substr(body) == "first" + std::string(2'000'000, 'a') + std::string(2'000'000, 'd')));
  replies[0].keep_alive(piece_of('!', 1));
  BOOST_TEST(served.run_until([&] {
    heard.hear(client);
    return heard.text.ends_with('!');
  }));
}

BOOST_AUTO_TEST_CASE(a_stream_that_takes_nothing_is_closed_and_one_without_pieces_is_not) {
  std::vector<HttpServer::Reply> replies;
  ServedSocket served([&](const HttpRequest&, const HttpServer::Reply& reply) { replies.push_back(reply); },
                      {.clients = 4, .write = 50ms});
  const UniqueFd slow = served.connect_client();
  say(slow, one_request);
  BOOST_REQUIRE(served.run_until([&] { return replies.size() == 1; }));
  const UniqueFd quiet = served.connect_client();
  say(quiet, one_request);
  BOOST_REQUIRE(served.run_until([&] { return replies.size() == 2; }));
  for (const HttpServer::Reply& reply : replies) BOOST_REQUIRE(reply.begin_stream({.body = "first"}));

  BOOST_TEST(replies[0].send(piece_of('a', 2'000'000)));
  BOOST_TEST(served.run_until([&] { return replies[0].is_gone(); }));
  BOOST_TEST(!replies[0].send(piece_of('b', 1)));
  BOOST_TEST(!replies[1].is_gone());
  BOOST_TEST(replies[1].send(piece_of('b', 1)));
}

BOOST_AUTO_TEST_CASE(a_stream_ends_with_its_client_or_when_it_is_ended_and_makes_no_room_for_others) {
  std::vector<HttpServer::Reply> replies;
  ServedSocket served([&](const HttpRequest&, const HttpServer::Reply& reply) { replies.push_back(reply); },
                      {.clients = 2});
  UniqueFd one = served.connect_client();
  const UniqueFd other = served.connect_client();
  say(one, one_request);
  say(other, one_request);
  BOOST_REQUIRE(served.run_until([&] { return replies.size() == 2; }));
  for (const HttpServer::Reply& reply : replies) BOOST_REQUIRE(reply.begin_stream({}));

  const UniqueFd third = served.connect_client();
  Heard refused;
  BOOST_TEST(served.run_until([&] { return refused.hear(third); }));
  BOOST_TEST(refused.text.starts_with("HTTP/1.1 503"));

  one.reset();
  BOOST_TEST(served.run_until([&] { return served.server.clients() == 1; }));
  Heard heard;
  for (const HttpServer::Reply& reply : replies) reply.end_stream();
  BOOST_TEST(served.run_until([&] { return heard.hear(other); }));
  BOOST_TEST(served.server.clients() == 0);
}

BOOST_AUTO_TEST_CASE(an_event_stays_one_whatever_it_holds) {
  BOOST_TEST(event_text("page", "a\nb\rc\r\nevent: x\n\n") ==
             "event: page\ndata: a\ndata: b\ndata: c\ndata: \ndata: event: x\ndata: \ndata: \n\n");
  BOOST_TEST(event_text("beat", "") == "event: beat\ndata: \n\n");
}
