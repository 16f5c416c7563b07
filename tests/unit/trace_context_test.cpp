#include <boost/test/unit_test.hpp>
#include <random>
#include <set>
#include <string>

#include "shared/otlp/run_span.hpp"
#include "shared/otlp/trace_context.hpp"

using namespace brood;

namespace {

const std::string valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

RunKey run_of(std::string_view jid, std::int64_t began_ns = 1'795'237'318'000'000'001) {
  return {.identity = "host:1:0123456789ab", .slot = 3, .began_ns = began_ns, .jid = jid};
}

OtlpSettings by(TracePropagation propagation, double sample = 1) {
  OtlpSettings settings;
  settings.endpoint = "http://127.0.0.1:4318";
  settings.propagation = propagation;
  settings.sample = sample;
  return settings;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_traceparent_is_read_and_written_as_the_standard_has_it) {
  const auto context = parse_traceparent(valid);
  BOOST_TEST_REQUIRE(context.has_value());
  BOOST_TEST(context->is_sampled());
  BOOST_TEST(traceparent_text(*context) == valid);
  BOOST_TEST(!parse_traceparent(valid.substr(0, 53) + "00")->is_sampled());
  // A later version may have more behind another dash.
  BOOST_TEST(parse_traceparent("01" + valid.substr(2)).has_value());
  BOOST_TEST(parse_traceparent("cc" + valid.substr(2) + "-what-comes").has_value());
}

BOOST_AUTO_TEST_CASE(what_the_standard_calls_invalid_is_no_traceparent) {
  for (const std::string& text : {std::string(),
                                  std::string("00"),
                                  valid.substr(0, 54),
                                  valid + "-",
                                  valid + "-01",
                                  valid + "0",
                                  "ff" + valid.substr(2),
                                  "0g" + valid.substr(2),
                                  "00_" + valid.substr(3),
                                  valid.substr(0, 35) + "_" + valid.substr(36),
                                  valid.substr(0, 52) + "_01",
                                  "cc" + valid.substr(2) + ".",
                                  "00-" + std::string(32, '0') + valid.substr(35),
                                  valid.substr(0, 36) + std::string(16, '0') + "-01",
                                  "00-0AF7651916CD43DD8448EB211C80319C" + valid.substr(35),
                                  valid.substr(0, 53) + "0x",
                                  " " + valid.substr(0, 54),
                                  std::string(10'000, '0'),
                                  std::string(55, '\0'),
                                  std::string(55, '-')})
    BOOST_TEST(!parse_traceparent(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(whatever_is_read_as_a_traceparent_is_written_again_as_the_same) {
  std::mt19937 random(1);
  const std::string alphabet = "0123456789abcdef-gA_\xff ";
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = valid;
    for (unsigned changes = random() % 3; changes > 0; --changes)
      text[random() % text.size()] = alphabet[random() % alphabet.size()];
    if (random() % 8 == 0) text.resize(random() % 70, '0');
    const auto context = parse_traceparent(text);
    if (!context) continue;
    ++read;
    BOOST_TEST_REQUIRE(traceparent_text(*context).substr(2) == text.substr(2, 53));
    BOOST_TEST_REQUIRE(parse_traceparent(traceparent_text(*context)).has_value());
  }
  BOOST_TEST(read > 1'000);
}

BOOST_AUTO_TEST_CASE(a_tracestate_is_taken_whole_or_not_at_all) {
  for (const char* const text :
       {"rojo=00f067aa0ba902b7", "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7", "a@b=1 , c=2", "a=1,,b=2"})
    BOOST_TEST(is_tracestate(text), text);
  std::string many = "k0=v";
  for (int i = 1; i < 33; ++i) many += ",k" + std::to_string(i) + "=v";
  for (const std::string& text :
       {std::string(), std::string(","), std::string("a"), std::string("=1"), std::string("A=1"), std::string("a=\n"),
        std::string("a=1=2"), std::string("a="), std::string("a=\xff"), std::string("a@b@c=1"), many,
        "a=" + std::string(257, 'v'), std::string(513, 'a')})
    BOOST_TEST(!is_tracestate(text), text);
}

BOOST_AUTO_TEST_CASE(a_run_is_linked_to_its_producer_or_its_child_or_neither) {
  const RunTrace linked = trace_of_run(by(TracePropagation::link), run_of("a"), valid, "rojo=1");
  BOOST_TEST_REQUIRE(linked.producer.has_value());
  BOOST_TEST(traceparent_text(*linked.producer) == valid);
  BOOST_TEST(!linked.is_child);
  BOOST_TEST((linked.own.trace != linked.producer->trace));
  BOOST_TEST(linked.own.is_sampled());
  BOOST_TEST(linked.state == "rojo=1");

  const RunTrace child = trace_of_run(by(TracePropagation::child), run_of("a"), valid, "no state");
  BOOST_TEST(child.is_child);
  BOOST_TEST((child.own.trace == linked.producer->trace));
  BOOST_TEST((child.own.span != linked.producer->span));
  BOOST_TEST(child.state == "");

  const RunTrace alone = trace_of_run(by(TracePropagation::none), run_of("a"), valid, "rojo=1");
  BOOST_TEST(!alone.producer.has_value());
  BOOST_TEST(!trace_of_run(by(TracePropagation::child), run_of("a"), "00-rubbish", "rojo=1").is_child);
}

BOOST_AUTO_TEST_CASE(the_producer_decides_whether_its_children_are_sent_and_the_sample_decides_for_the_others) {
  const std::string untold = valid.substr(0, 53) + "00";
  BOOST_TEST(!trace_of_run(by(TracePropagation::child), run_of("a"), untold, "").own.is_sampled());
  BOOST_TEST(trace_of_run(by(TracePropagation::child, 0), run_of("a"), valid, "").own.is_sampled());
  BOOST_TEST(trace_of_run(by(TracePropagation::link), run_of("a"), untold, "").own.is_sampled());
  int told = 0;
  for (int i = 0; i < 10'000; ++i)
    told += trace_of_run(by(TracePropagation::link, 0.25), run_of(std::to_string(i)), "", "").own.is_sampled() ? 1 : 0;
  BOOST_TEST(told > 2'300);
  BOOST_TEST(told < 2'700);
  BOOST_TEST(!trace_of_run(by(TracePropagation::link, 0), run_of("a"), "", "").own.is_sampled());
}

BOOST_AUTO_TEST_CASE(every_run_has_ids_of_its_own_that_can_be_found_again) {
  std::set<std::string> seen;
  for (int i = 0; i < 2'000; ++i) {
    const RunTrace one =
        trace_of_run(by(TracePropagation::link), run_of(std::to_string(i % 100), 1'000 + i / 100), "", "");
    BOOST_TEST_REQUIRE(parse_traceparent(traceparent_text(one.own)).has_value());
    seen.insert(traceparent_text(one.own).substr(3, 32));
    seen.insert(traceparent_text(one.own).substr(36, 16));
  }
  BOOST_TEST(seen.size() == 4'000u);
  const auto again = [] { return trace_of_run(by(TracePropagation::link), run_of("a"), "", "").own; };
  BOOST_TEST((again() == again()));
}
