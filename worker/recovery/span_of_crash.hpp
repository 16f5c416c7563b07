#pragma once

#include <string>

#include "shared/config/otlp_settings.hpp"
#include "shared/job/payload.hpp"
#include "shared/otlp/run_span.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "worker/crash/crash_report.hpp"

namespace brood {

// Of the run that the worker's end cut short; when that began must be known.
RunSpan span_of_crash(const OtlpSettings& settings, const WorkerDeath& worker_death, const Payload& job,
                      const std::string& queue, const CrashReport& report);

}  // namespace brood
