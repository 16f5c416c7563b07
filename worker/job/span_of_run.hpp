#pragma once

#include <string>

#include "shared/config/otlp_settings.hpp"
#include "shared/job/payload.hpp"
#include "shared/otlp/run_span.hpp"

namespace brood {

// The place of a payload's run in a trace, and the span's facts but for its end.  A run that is not exported has the
// trace alone.
RunSpan span_of_run(const OtlpSettings& settings, const Payload& job, const std::string& queue, const RunKey& run);

}  // namespace brood
