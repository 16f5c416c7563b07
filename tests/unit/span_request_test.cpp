#include "supervisor/otlp/span_request.hpp"

#include <boost/test/unit_test.hpp>
#include <random>
#include <string>

#include "shared/json/json.hpp"

using namespace brood;

namespace {

const std::string traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

OtlpSettings settings_with(TracePropagation propagation) {
  OtlpSettings settings;
  settings.service_name = "brood";
  settings.propagation = propagation;
  return settings;
}

RunSpan span_of(const OtlpSettings& settings) {
  RunSpan span;
  span.trace =
      trace_of_run(settings, {.identity = "h:1:2", .slot = 4, .began_ns = 1'000, .jid = "j"}, traceparent, "rojo=1");
  span.began_ns = 1'000;
  span.took_ns = 7;
  span.slot = 4;
  span.queue = "mails";
  span.jid = "j";
  span.job_class = "Mail";
  return span;
}

std::string body_of(const OtlpSettings& settings, const RunSpan& span) {
  SpanRequest request(settings, {.identity = "h:1:2", .hostname = "h", .version = "0.1.0"});
  request.add(span);
  return request.body();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_request_is_spelled_as_otlp_spells_it) {
  OtlpSettings settings = settings_with(TracePropagation::child);
  settings.resource = {{"host.name", "mine"}};
  const RunSpan span = span_of(settings);
  const std::string own = hex_of(span.trace.own.span.data(), span.trace.own.span.size());
  BOOST_TEST(
      body_of(settings, span) ==
      R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"brood"}},)"
      R"({"key":"service.instance.id","value":{"stringValue":"h:1:2"}},{"key":"host.name","value":{"stringValue":"mine"}}]},)"
      R"("scopeSpans":[{"scope":{"name":"brood","version":"0.1.0"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c",)"
      R"("spanId":")" +
          own +
          R"(","parentSpanId":"b7ad6b7169203331","traceState":"rojo=1","flags":769,"name":"mails process","kind":5,)"
          R"("startTimeUnixNano":"1000","endTimeUnixNano":"1007","attributes":[)"
          R"({"key":"messaging.system","value":{"stringValue":"sidekiq"}},)"
          R"({"key":"messaging.destination.name","value":{"stringValue":"mails"}},)"
          R"({"key":"messaging.operation","value":{"stringValue":"process"}},)"
          R"({"key":"messaging.operation.name","value":{"stringValue":"process"}},)"
          R"({"key":"messaging.operation.type","value":{"stringValue":"process"}},)"
          R"({"key":"messaging.message.id","value":{"stringValue":"j"}},)"
          R"({"key":"messaging.sidekiq.job_class","value":{"stringValue":"Mail"}},)"
          R"({"key":"brood.job.attempt","value":{"intValue":"1"}},{"key":"brood.worker.slot","value":{"intValue":"4"}}]}]}]}]})");
}

BOOST_AUTO_TEST_CASE(what_is_linked_has_no_parent_and_what_is_alone_neither) {
  const OtlpSettings link = settings_with(TracePropagation::link), none = settings_with(TracePropagation::none);
  const std::string linked = body_of(link, span_of(link)), alone = body_of(none, span_of(none));
  BOOST_TEST(linked.find("parentSpanId") == linked.npos);
  BOOST_TEST(
      linked.find(
          R"("links":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","traceState":"rojo=1","flags":769}])") !=
      linked.npos);
  BOOST_TEST(alone.find("links") == alone.npos);
  BOOST_TEST(alone.find("0af7651916cd43dd8448eb211c80319c") == alone.npos);
}

BOOST_AUTO_TEST_CASE(whatever_jobs_are_called_and_fail_by_it_is_json) {
  std::mt19937 random(4);
  const OtlpSettings settings = settings_with(TracePropagation::link);
  for (int round = 0; round < 2'000; ++round) {
    RunSpan span = span_of(settings);
    span.end = RunSpan::End::crashed;
    for (std::string* const text : {&span.queue, &span.jid, &span.job_class, &span.wrapped, &span.error_class,
                                    &span.message, &span.signal, &span.top, &span.fingerprint}) {
      text->resize(random() % 20);
      for (char& c : *text) c = static_cast<char>(random());
    }
    BOOST_TEST_REQUIRE(is_json(body_of(settings, span)));
  }
}
