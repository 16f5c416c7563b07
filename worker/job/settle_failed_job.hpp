#pragma once

#include <string>

#include "shared/config/config.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// Settles a job that failed, by the ordinary retry policy: runs the error handlers, asks the class's hooks, and runs
// the death handlers if the job is not retried.  With `ask_hooks` false no code of a library runs.
Outcome settle_failure(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                       const RetryPolicy& policy, bool ask_hooks = true);

// The rule for this job's `retry_for`: `configured`, else that of the oldest live Ruby process, else that of the newest
// release.  Asks Redis only for a job that has `retry_for`, once a minute at most.
RetryFor rule_of_retry_for(const Payload& job, std::optional<SidekiqRelease> configured, FleetRelease& fleet,
                           const AskRedis& ask);

// Settles a job that an operator ended: no attempt is charged, and no code of a library runs.
Outcome settle_by_hand(const Payload& job, std::string_view queue, const Failure& failure, WorkerDeath::Fate fate);

// Settles a job that came back too often from workers whose end no supervisor saw: it is dead, unless its option `dead`
// or its exhausted hook decides otherwise, and its death handlers run.
Outcome settle_orphan(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                      bool ask_hooks);

// Settles a job that cannot be decrypted, which no retry would change: it is dead at once, unless its option `dead`
// is false.  Error handlers and death handlers run, and no hook.
Outcome settle_undecipherable(const JobRegistry& registry, const Payload& job, std::string_view queue,
                              const Failure& failure);

// Settles a job that has expired, at `expiry`: it is acknowledged, or it is dead if `becomes` asks for that and its
// option `dead` does not forbid it.  No failure is counted, and no handler runs.
Outcome settle_expired(const Payload& job, std::string_view queue, WallTime expiry, ExpiredJobs becomes);

// Moves a text that is not a job to `dead`, as record_of_unreadable() writes it.  The reason is logged.
Outcome move_unreadable_to_dead(const std::string& payload, std::string_view queue, const std::string& reason);

}  // namespace brood
