#include "supervisor/otlp/span_request.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "shared/json/json.hpp"

namespace brood {
namespace {

// From opentelemetry/proto/trace/v1/trace.proto.
constexpr int kind_consumer = 5, status_error = 2;
constexpr unsigned knows_remote = 0x100, is_remote = 0x200;

class Attributes {
 public:
  Attributes& text(std::string_view key, std::string_view value) {
    if (!value.empty()) add(key, "stringValue", json_string(value));
    return *this;
  }
  Attributes& number(std::string_view key, std::int64_t value) {
    add(key, "intValue", fmt::format("\"{}\"", value));
    return *this;
  }
  std::string array() const { return "[" + members_ + "]"; }

 private:
  void add(std::string_view key, std::string_view kind, const std::string& json) {
    members_ += fmt::format("{}{{\"key\":{},\"value\":{{\"{}\":{}}}}}", members_.empty() ? "" : ",", json_string(key),
                            kind, json);
  }
  std::string members_;
};

std::string ids(const SpanContext& context) {
  return fmt::format("\"traceId\":\"{}\",\"spanId\":\"{}\"", hex_of(context.trace.data(), context.trace.size()),
                     hex_of(context.span.data(), context.span.size()));
}

std::string event(std::int64_t at_ns, std::string_view name, const std::string& attributes = "") {
  return fmt::format("{{\"timeUnixNano\":\"{}\",\"name\":\"{}\"{}}}", at_ns, name,
                     attributes.empty() ? "" : ",\"attributes\":" + attributes);
}

std::string state_of(const RunTrace& trace) {
  return trace.state.empty() ? "" : ",\"traceState\":" + json_string(trace.state);
}

bool has_failed(const RunSpan& span) { return span.end == RunSpan::End::failed || span.end == RunSpan::End::crashed; }

std::string attributes_of(const RunSpan& span) {
  Attributes attributes;
  attributes.text("messaging.system", "sidekiq")
      .text("messaging.destination.name", span.queue)
      .text("messaging.operation", "process")
      .text("messaging.operation.name", "process")
      .text("messaging.operation.type", "process")
      .text("messaging.message.id", span.jid)
      .text("messaging.sidekiq.job_class", span.wrapped.empty() ? span.job_class : span.wrapped)
      .number("brood.job.attempt", span.attempt)
      .number("brood.worker.slot", span.slot);
  if (span.pid > 0) attributes.number("process.pid", span.pid);
  if (span.end == RunSpan::End::interrupted) attributes.text("brood.job.end", "interrupted");
  if (span.end == RunSpan::End::crashed) attributes.text("brood.job.end", "crashed");
  if (has_failed(span)) attributes.text("error.type", span.error_class);
  attributes.text("brood.crash.signal", span.signal).text("brood.crash.fingerprint", span.fingerprint);
  return attributes.array();
}

std::string events_of(const RunSpan& span) {
  std::string events;
  const auto add = [&](const std::string& one) { events += (events.empty() ? "" : ",") + one; };
  if (span.created_ns > 0) add(event(span.created_ns, "created_at"));
  if (span.enqueued_ns > 0) add(event(span.enqueued_ns, "enqueued_at"));
  if (has_failed(span))
    add(event(span.began_ns + span.took_ns, "exception",
              Attributes()
                  .text("exception.type", span.error_class)
                  .text("exception.message", span.message)
                  .text("exception.stacktrace", span.top)
                  .text("brood.crash.signal", span.signal)
                  .text("brood.crash.fingerprint", span.fingerprint)
                  .array()));
  return events;
}

}  // namespace

SpanRequest::SpanRequest(const OtlpSettings& settings, const SpanSource& source) {
  std::vector<std::pair<std::string, std::string>> resource = {{"service.name", settings.service_name},
                                                               {"service.instance.id", source.identity},
                                                               {"host.name", source.hostname}};
  Attributes attributes;
  for (const auto& [name, value] : resource) {
    bool is_set = false;
    for (const auto& own : settings.resource) is_set = is_set || own.first == name;
    if (!is_set) attributes.text(name, value);
  }
  for (const auto& [name, value] : settings.resource) attributes.text(name, value);
  before_ = fmt::format(
      "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":{}}},\"scopeSpans\":[{{\"scope\":{{\"name\":\"brood\","
      "\"version\":{}}},\"spans\":[",
      attributes.array(), json_string(source.version));
}

void SpanRequest::add(const RunSpan& span) {
  const RunTrace& trace = span.trace;
  spans_ += fmt::format("{}{{{}", count_++ == 0 ? "" : ",", ids(trace.own));
  if (trace.is_child)
    spans_ += fmt::format(",\"parentSpanId\":\"{}\"{}",
                          hex_of(trace.producer->span.data(), trace.producer->span.size()), state_of(trace));
  const unsigned remote = trace.is_child ? knows_remote | is_remote : knows_remote;
  spans_ += fmt::format(
      ",\"flags\":{},\"name\":{},\"kind\":{},\"startTimeUnixNano\":\"{}\",\"endTimeUnixNano\":\"{}\",\"attributes\":{}",
      trace.own.flags | remote, json_string(span.queue + " process"), kind_consumer, span.began_ns,
      span.began_ns + span.took_ns, attributes_of(span));
  if (const std::string events = events_of(span); !events.empty()) spans_ += ",\"events\":[" + events + "]";
  if (trace.producer && !trace.is_child)
    spans_ += fmt::format(",\"links\":[{{{}{},\"flags\":{}}}]", ids(*trace.producer), state_of(trace),
                          trace.producer->flags | knows_remote | is_remote);
  if (has_failed(span))
    spans_ += fmt::format(",\"status\":{{\"message\":{},\"code\":{}}}", json_string(span.error_class), status_error);
  spans_ += "}";
}

std::string SpanRequest::body() const { return before_ + spans_ + "]}]}]}"; }

}  // namespace brood
