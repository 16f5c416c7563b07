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
  SpanCounts* counts;  // the outcome of the spans, in shared memory
  int lifeline;        // at its end the exporter sends what it has, for at most two seconds
};

// Runs in a child: reads spans from the pipe and sends them to the collector, until its lifeline ends.  It holds at
// most 2,048 waiting spans and 512 under way.  Returns the exit status.
int run_exporter(const Exporter& exporter);

}  // namespace brood
