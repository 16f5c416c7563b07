#pragma once

#include <string>
#include <string_view>

#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// The class's retry_in hook for the failure that perform() just returned, or for a crash: then the hook gets a
// brood::JobCrashed.  `none` when the class has no hook or the hook threw (logged).
HookAnswer ask_retry_in(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure);

// The class's exhausted hook; true when it answered `discard`.  False when there is none or it threw (logged).
bool ask_exhausted(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure);

// Runs every error handler of the job's libraries (JobRegistry::libraries_told).  Their exceptions are logged and
// ignored.
void run_error_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure);

// The handlers of the event `crash`, of all libraries.  `report` is what is known of it, in lines.
void run_crash_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                        int slot, const std::string& report);

// Every death handler of the same libraries, likewise.
void run_death_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure);

}  // namespace brood
