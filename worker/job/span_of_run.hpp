#pragma once

#include <string>

#include "shared/config/otlp_settings.hpp"
#include "shared/job/payload.hpp"
#include "shared/otlp/run_span.hpp"

namespace brood {

// The span of a run: its trace, and all of its facts but the end.  If the run is not exported, the span has only the
// trace.
RunSpan span_of_run(const OtlpSettings& settings, const Payload& job, const std::string& queue, const RunKey& run);

}  // namespace brood
