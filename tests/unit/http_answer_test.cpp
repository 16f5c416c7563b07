#include <boost/test/unit_test.hpp>
#include <random>
#include <string>

#include "shared/http/http_answer.hpp"
#include "shared/http/retry_pause.hpp"
#include "supervisor/otlp/export_verdict.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

HttpAnswer answer_of(const std::string& text, std::size_t piece = 1'000'000, bool ends = false) {
  HttpAnswer answer;
  for (std::size_t at = 0; at < text.size(); at += piece) answer.add(std::string_view(text).substr(at, piece));
  if (ends) answer.end();
  return answer;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_answer_is_read_however_its_bytes_come) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1'000}}) {
    const HttpAnswer counted = answer_of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\n\r\n{}", piece);
    BOOST_TEST(counted.is_whole());
    BOOST_TEST(counted.status() == 200);
    BOOST_TEST(counted.body() == "{}");
    const HttpAnswer chunked = answer_of(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: "
        "Chunked\r\n\r\n3;a=b\r\n{\"a\r\nA\r\n\":12345678\r\n0\r\n\r\n",
        piece);
    BOOST_TEST(chunked.is_whole());
    BOOST_TEST(chunked.body() == "{\"a\":12345678");
    const HttpAnswer until_end = answer_of("HTTP/1.0 503 Busy\r\nRetry-After: 7\r\n\r\nlater", piece, true);
    BOOST_TEST(until_end.is_whole());
    BOOST_TEST(until_end.retry_after() == "7");
    BOOST_TEST(until_end.body() == "later");
    BOOST_TEST(answer_of("HTTP/1.1 204 No Content\r\n\r\n", piece).is_whole());
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_is_broken_and_takes_no_memory) {
  for (const char* const text :
       {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "HTTP/1.1 099 OK\r\n\r\n"})
    BOOST_TEST(answer_of(text).is_broken(), text);
  BOOST_TEST(answer_of(std::string(20'000, 'x')).is_broken());
  BOOST_TEST(answer_of("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", 5, true).is_broken());
  const HttpAnswer endless = answer_of("HTTP/1.1 200 OK\r\n\r\n" + std::string(1'000'000, 'x'), 10'000);
  BOOST_TEST(endless.body().size() == HttpAnswer::longest_body);
  BOOST_TEST(endless.is_whole());  // the rest is not waited for
  std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100'000; ++i) chunks += "1\r\nx\r\n";
  BOOST_TEST(answer_of(chunks, 16'384).is_whole());
}

BOOST_AUTO_TEST_CASE(no_bytes_harm_who_reads_an_answer) {
  std::mt19937 random(3);
  const std::string good =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nRetry-After: "
      "5\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (unsigned changes = random() % 6; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    HttpAnswer answer;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = 1 + random() % 40;
      answer.add(std::string_view(bytes).substr(at, piece));
      at += piece;
    }
    answer.end();
    BOOST_TEST_REQUIRE(answer.is_whole() != answer.is_broken());
    judge_answer(answer);
  }
}

BOOST_AUTO_TEST_CASE(what_passes_is_tried_again_and_what_does_not_is_refused) {
  using Kind = ExportVerdict::Kind;
  const auto judged = [](const std::string& text) { return judge_answer(answer_of(text, 1'000, true)); };
  BOOST_TEST((judged("HTTP/1.1 200 OK\r\n\r\n{}").kind == Kind::taken));
  BOOST_TEST((judged("HTTP/1.1 200 OK\r\n\r\nno json").kind == Kind::taken));
  for (const char* const status : {"429", "502", "503", "504"})
    BOOST_TEST((judged(std::string("HTTP/1.1 ") + status + " X\r\n\r\n").kind == Kind::again));
  for (const char* const status : {"301", "400", "401", "404", "413", "500"})
    BOOST_TEST((judged(std::string("HTTP/1.1 ") + status + " X\r\n\r\n").kind == Kind::refused));
  BOOST_TEST((judged("rubbish").kind == Kind::again));
  BOOST_TEST((judged("HTTP/1.1 429 X\r\nRetry-After: 12\r\n\r\n").wait_at_least == 12s));
  BOOST_TEST((judged("HTTP/1.1 429 X\r\nRetry-After: 99999999999\r\n\r\n").wait_at_least == 5min));
  BOOST_TEST((judged("HTTP/1.1 429 X\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\n").wait_at_least == 0ms));
  const ExportVerdict partly =
      judged("HTTP/1.1 200 OK\r\n\r\n{\"partialSuccess\":{\"rejectedSpans\":\"3\",\"errorMessage\":\"too old\"}}");
  BOOST_TEST(partly.refused == 3u);
  BOOST_TEST(partly.reason == "too old");
}

BOOST_AUTO_TEST_CASE(it_is_tried_again_ever_more_seldom_and_never_at_the_same_moment) {
  BOOST_TEST((backoff(1, 0) == 800ms));
  BOOST_TEST((backoff(1, 1) == 1'200ms));
  BOOST_TEST((backoff(3, 0.5) == 4s));
  BOOST_TEST((backoff(1'000, 0.5) == 60s));
}
