#pragma once

#include <string>

#include "shared/config/otlp_settings.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "supervisor/otlp/span_request.hpp"

namespace brood {

// The exporter of one supervisor's spans.
struct Exporter {
  OtlpSettings settings;
  SpanSource source;
  std::string pipe;    // where the spans come from
  SpanCounts* counts;  // what became of them, in shared memory
  int lifeline;        // whose end it hears: then it sends what it has, for no more than two seconds
};

// In a child of its own: reads spans from the pipe and sends them to the collector, until its lifeline ends.  It holds
// no more than 2,048 that wait and 512 that are on the way.  Returns the exit status.
int run_exporter(const Exporter& exporter);

}  // namespace brood
