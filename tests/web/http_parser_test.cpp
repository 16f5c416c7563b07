#include "supervisor/web/http/http_parser.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace brood;

namespace {

struct Parsed {
  std::vector<HttpRequest> requests;
  int refusal = 0;
};

// In pieces of `piece` bytes.
Parsed parse(std::string_view bytes, std::size_t piece = 1'000'000) {
  HttpParser parser;
  Parsed parsed;
  while (!bytes.empty()) {
    parser.add(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (auto request = parser.next()) parsed.requests.push_back(std::move(*request));
  }
  parsed.refusal = parser.refusal();
  return parsed;
}

int refusal_of(const std::string& text) { return parse(text).refusal; }
std::string get_with(const std::string& fields) { return "GET / HTTP/1.1\r\nHost: here\r\n" + fields + "\r\n"; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_request_is_the_same_however_its_bytes_come) {
  const std::string bytes =
      "POST /queues/pause?name=a%FFb+c&x HTTP/1.1\r\nHost: here\r\nCookie: a=1; brood_visit=abc\r\nContent-Length: "
      "11\r\n\r\ntoken=t+%3cGET /%2fx HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
  for (const std::size_t piece : {1, 2, 7, 1'000}) {
    const Parsed parsed = parse(bytes, piece);
    BOOST_TEST(parsed.refusal == 0);
    BOOST_REQUIRE(parsed.requests.size() == 2);
    const HttpRequest& post = parsed.requests[0];
    BOOST_TEST(post.method == "POST");
    BOOST_TEST(post.path == "/queues/pause");
    BOOST_TEST(FormValues::parse(post.query).value("name") ==
               "a\xff"
               "b c");
    BOOST_TEST(FormValues::parse(post.body).value("token") == "t <");
    BOOST_TEST(post.cookie("brood_visit").value_or("") == "abc");
    BOOST_TEST(post.cookie("visit").has_value() == false);
    BOOST_TEST(post.keeps_alive);
    BOOST_TEST(parsed.requests[1].path == "//x");
    BOOST_TEST(!parsed.requests[1].keeps_alive);
  }
}

BOOST_AUTO_TEST_CASE(what_a_proxy_may_understand_in_another_way_is_refused) {
  BOOST_TEST(refusal_of(get_with("")) == 0);
  BOOST_TEST(refusal_of(get_with("Transfer-Encoding: chunked\r\n")) == 501);
  for (const char* const field : {"Content-Length: 5, 5", "Content-Length: +5", "Content-Length: "})
    BOOST_TEST(refusal_of(get_with(std::string(field) + "\r\n")) == 400);
  for (const char* const field : {"Origin", "Sec-Fetch-Site", "Authorization", "Content-Type", "Host"}) {
    const std::string once = std::string(field) + ": a\r\n";
    BOOST_TEST_CONTEXT(field) BOOST_TEST(refusal_of(get_with(once + once)) == 400);
  }
  BOOST_TEST(refusal_of(get_with("Transfer-Encoding: identity\r\n")) == 501);
  BOOST_TEST(refusal_of(get_with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n")) == 400);
  BOOST_TEST(refusal_of(get_with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n")) == 400);
  BOOST_TEST(refusal_of(get_with("Content-Length: 3\r\nContent-Length: 4\r\n")) == 400);
  BOOST_TEST(refusal_of(get_with("Content-Length: 0\r\nContent-Length: 0\r\n")) == 400);
  BOOST_TEST(refusal_of(get_with("Content-Length: -1\r\n")) == 400);
  BOOST_TEST(refusal_of(get_with("Host: there\r\n")) == 400);
  BOOST_TEST(refusal_of("GET / HTTP/1.1\r\n\r\n") == 400);
  BOOST_TEST(refusal_of(get_with("X: a\r\n b\r\n")) == 400);
  BOOST_TEST(refusal_of(get_with("X : a\r\n")) == 400);
  BOOST_TEST(refusal_of(get_with("X: a\rb\r\n")) == 400);
  BOOST_TEST(refusal_of(get_with(std::string("X: a\0b\r\n", 8))) == 400);
  BOOST_TEST(refusal_of("GET http://there/ HTTP/1.1\r\nHost: here\r\n\r\n") == 400);
  BOOST_TEST(refusal_of("GET //there/ HTTP/1.1\r\nHost: here\r\n\r\n") == 400);
  BOOST_TEST(refusal_of("GET /\xff HTTP/1.1\r\nHost: here\r\n\r\n") == 400);
  BOOST_TEST(refusal_of("GET / HTTP/2.0\r\nHost: here\r\n\r\n") != 0);
  BOOST_TEST(refusal_of("\x16\x03\x01\x02 hello\r\n\r\n") == 400);
}

BOOST_AUTO_TEST_CASE(a_request_has_bounds) {
  const std::string large(longest_http_header, 'a');
  BOOST_TEST(refusal_of(get_with("X: " + large + "\r\n")) == 431);
  BOOST_TEST(refusal_of("GET /" + large) == 431);
  const auto post = [](std::size_t size) {
    return "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
  };
  BOOST_TEST(refusal_of(post(longest_http_body + 1)) == 413);
  BOOST_TEST(parse(post(longest_http_body) + std::string(longest_http_body, 'b'), 4096).requests.size() == 1u);
}

BOOST_AUTO_TEST_CASE(nothing_that_is_sent_has_a_second_line_in_a_header) {
  BOOST_CHECK_THROW(bytes_of({.headers = {{"Location", "/\r\nSet-Cookie: a=b"}}}, true, true), std::logic_error);
  BOOST_CHECK_THROW(bytes_of({.headers = {{"Location", std::string("/\0", 2)}}}, true, true), std::logic_error);
  const std::string bytes = bytes_of({.body = "text"}, false, false);
  BOOST_TEST(bytes.find("Content-Length: 4\r\n") != std::string::npos);
  BOOST_TEST(bytes.ends_with("\r\n\r\n"));
  BOOST_TEST(bytes.find("Content-Security-Policy: default-src 'none'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(whatever_bytes_come_the_parser_reads_or_refuses) {
  std::mt19937 random(1);
  const std::string seed = "POST /a?b=%41 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nX: y\r\n\r\nabc";
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = seed + seed;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 2) bytes.erase(random() % bytes.size(), random() % 8);
    const Parsed parsed = parse(bytes, 1 + random() % 40);
    BOOST_TEST_REQUIRE(parsed.requests.size() <= 3u);
  }
}
