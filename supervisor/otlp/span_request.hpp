#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shared/config/otlp_settings.hpp"
#include "shared/otlp/run_span.hpp"

namespace brood {

// The process that spans come from.
struct SpanSource {
  std::string identity;  // of the supervisor
  std::string hostname, version;
};

// The body of a request to a collector: an ExportTraceServiceRequest of opentelemetry-proto in JSON, as OTLP has it
// (names in camelCase, ids in hex, 64-bit numbers as strings).  Pure.
class SpanRequest {
 public:
  SpanRequest(const OtlpSettings& settings, const SpanSource& source);

  void add(const RunSpan& span);
  std::size_t spans() const { return count_; }
  std::string body() const;

 private:
  std::string before_, spans_;
  std::size_t count_ = 0;
};

}  // namespace brood
