#pragma once

#include <string>
#include <string_view>

#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// Calls the class's retry_in hook for the failure that perform() just returned, or for a crash, which the hook gets as
// a brood::JobCrashed.  Returns `none` if the class has no hook, or if the hook threw, which is logged.
HookAnswer ask_retry_in(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure);

// Calls the class's exhausted hook.  Returns true if it answered `discard`; false if there is none, or it threw, which
// is logged.
bool ask_exhausted(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure);

// Runs every error handler of the job's libraries (JobRegistry::libraries_told).  Their exceptions are logged and
// ignored.
void run_error_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure);

// Calls the handlers of the event `crash` in all libraries.  `report` describes the crash, in lines.
void run_crash_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                        int slot, const std::string& report);

// Runs every death handler of the job's libraries.  Their exceptions are logged and ignored.
void run_death_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure);

}  // namespace brood
