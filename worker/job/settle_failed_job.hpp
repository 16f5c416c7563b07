#pragma once

#include <string>

#include "shared/config/config.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// How a job that failed is settled, by the ordinary retry policy: error handlers run, the class's hooks are asked, and
// death handlers run for a job that is not to be tried again.  With `ask_hooks` false no code of a library runs.
Outcome settle_failure(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                       const RetryPolicy& policy, bool ask_hooks = true);

// What `retry_for` of this job does: as `configured` says, else as in the oldest Ruby process that lives, else as in
// the newest release.  Asks Redis only for a job that has `retry_for`, once a minute at most.
RetryFor rule_of_retry_for(const Payload& job, std::optional<SidekiqRelease> configured, FleetRelease& fleet,
                           const AskRedis& ask);

// How a job that somebody ended by hand is settled: no attempt is charged, and no code of a library runs.
Outcome settle_by_hand(const Payload& job, std::string_view queue, const Failure& failure, WorkerDeath::Fate fate);

// How a job is settled that has come back too often from workers whose end nobody saw: it is dead, unless its option
// `dead` or its exhausted hook says otherwise, and its death handlers run.
Outcome settle_orphan(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                      bool ask_hooks);

// How a job is settled that cannot be decrypted, which no retry would change: it is dead at once, unless its option
// `dead` says otherwise; error handlers and `[on_error]` are told, death handlers run, and no hook.
Outcome settle_undecipherable(const JobRegistry& registry, const Payload& job, std::string_view queue,
                              const Failure& failure);

// How a job is settled that came too late to begin, at `expiry`: it has ended, or, if `becomes` says so and its option
// `dead` does not forbid it, is dead.  No failure is counted, and no handler runs.
Outcome settle_expired(const Payload& job, std::string_view queue, WallTime expiry, ExpiredJobs becomes);

// A text that is not a job goes to `dead` as it is, since nothing can be added to it.  The log says why.
Outcome move_unreadable_to_dead(const std::string& payload, std::string_view queue, const std::string& reason);

}  // namespace brood
