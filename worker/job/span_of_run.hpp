#pragma once

#include <string>

#include "shared/config/otlp_settings.hpp"
#include "shared/job/payload.hpp"
#include "shared/otlp/run_span.hpp"

namespace brood {

// Of one payload: where its run stands in a trace, and what a span has of it.  How it ended is still to be said.
// Of a run that nobody is told of it has the trace alone.
RunSpan span_of_run(const OtlpSettings& settings, const Payload& job, const std::string& queue, const RunKey& run);

}  // namespace brood
