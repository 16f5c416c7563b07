#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "shared/otlp/run_span.hpp"

using namespace brood;

namespace {

RunSpan crashed(int number) {
  RunSpan span;
  OtlpSettings settings;
  const std::string jid = std::to_string(number);
  span.trace = trace_of_run(settings, {.identity = "host:1:0123456789ab", .slot = 1, .began_ns = 1'000, .jid = jid},
                            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "rojo=1");
  span.began_ns = 1'000;
  span.took_ns = 500;
  span.end = RunSpan::End::crashed;
  span.queue = "mails";
  span.jid = jid;
  span.job_class = "Mail";
  span.error_class = "SIGSEGV";
  span.message = "at 0x0";
  span.signal = "SIGSEGV";
  span.top = "deliver at mail.cpp:12";
  span.fingerprint = "0123456789ab";
  span.pid = 4'711;
  return span;
}

std::vector<RunSpan> all_of(SpanRecords& records) {
  std::vector<RunSpan> all;
  while (auto span = records.next()) all.push_back(*span);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(spans_come_through_a_pipe_whole_however_it_is_read) {
  std::string bytes;
  for (int number = 0; number < 20; ++number) append_record(bytes, crashed(number));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{300}, bytes.size()}) {
    SpanRecords records;
    std::vector<RunSpan> all;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      records.add(std::string_view(bytes).substr(at, piece));
      for (RunSpan& span : all_of(records)) all.push_back(std::move(span));
    }
    BOOST_TEST_REQUIRE(all.size() == 20u);
    BOOST_TEST(all[7].jid == "7");
    BOOST_TEST((all[7].trace.own == crashed(7).trace.own));
    BOOST_TEST((all[7].trace.producer == crashed(7).trace.producer));
    BOOST_TEST(all[7].trace.state == "rojo=1");
    BOOST_TEST(all[7].top == "deliver at mail.cpp:12");
    BOOST_TEST(all[7].pid == 4'711);
    BOOST_TEST(records.passed_over() == 0u);
  }
}

BOOST_AUTO_TEST_CASE(no_span_is_longer_than_what_a_pipe_takes_whole) {
  RunSpan span = crashed(1);
  const std::string endless(100'000, 'x');
  for (std::string* const text : {&span.queue, &span.jid, &span.job_class, &span.wrapped, &span.error_class,
                                  &span.message, &span.signal, &span.top, &span.fingerprint})
    *text = endless;
  span.trace.state = "a=" + std::string(256, 'v') + ",b=" + std::string(250, 'v');
  std::string bytes;
  append_record(bytes, span);
  BOOST_TEST(bytes.size() <= longest_record);
  SpanRecords records;
  records.add(bytes);
  const auto read = records.next();
  BOOST_TEST_REQUIRE(read.has_value());
  BOOST_TEST(read->message == endless.substr(0, 1'000));
}

BOOST_AUTO_TEST_CASE(rubbish_between_spans_is_passed_over_and_counted) {
  std::string bytes = "a job wrote this";
  append_record(bytes, crashed(1));
  bytes += std::string(10'000, '\x7f');
  append_record(bytes, crashed(2));
  std::string torn;
  append_record(torn, crashed(3));
  bytes += torn.substr(0, torn.size() / 2);
  append_record(bytes, crashed(4));
  append_record(bytes, crashed(5));
  SpanRecords records;
  records.add(bytes);
  std::string jids;
  for (const RunSpan& span : all_of(records)) jids += span.jid;
  BOOST_TEST(jids == "1245");
  BOOST_TEST(records.passed_over() > 10'000u);
}

BOOST_AUTO_TEST_CASE(no_bytes_harm_who_reads_them) {
  std::mt19937 random(2);
  std::string good;
  for (int number = 0; number < 5; ++number) append_record(good, crashed(number));
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes = good;
    for (unsigned changes = random() % 20; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 3 == 0) bytes.erase(random() % bytes.size(), random() % 400);
    SpanRecords records;
    std::size_t spans = 0;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = 1 + random() % 700;
      records.add(std::string_view(bytes).substr(at, piece));
      at += piece;
      for (const RunSpan& span : all_of(records)) {
        ++spans;
        BOOST_TEST_REQUIRE(span.took_ns >= 0);
        BOOST_TEST_REQUIRE(span.began_ns + span.took_ns >= span.began_ns);
        BOOST_TEST_REQUIRE(span.message.size() <= 1'000u);
      }
    }
    BOOST_TEST_REQUIRE(spans <= 5u);
  }
}
