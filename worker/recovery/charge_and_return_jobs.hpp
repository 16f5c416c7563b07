#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/worker_death.hpp"

namespace brood {

// The body of a short-lived child: empties the in-flight lists of dead workers, charges the jobs that they died of, and
// reports each crash.  It loads libraries only for a class that has hooks or death handlers, and for an orphan, whose
// class may have some.  A library, its debug information or the job's own texts may crash this process: never call it
// in a process that must go on.  Returns the exit status: 0 when every death was handled, 75 when Redis went away or
// refused something (call again), 78 when a library cannot be used.  `bytes` counts the progress: see
// RecoveryConnection; it may be null.  Failures are reported by the reporter of `supervisor`, an identity, whose child
// this is; empty: they are not.
int run_recovery_child(const std::vector<WorkerDeath>& worker_deaths, RecoveryMode mode, const Config& config,
                       const RedisAddress& redis, std::atomic<std::uint64_t>* bytes = nullptr,
                       const std::string& supervisor = {});

// The same for all workers that a dead supervisor's in-flight hash names.  Jobs without a record go back uncharged.
int settle_orphaned_jobs(const OrphanedJobs& orphaned_jobs, RecoveryMode mode, const Config& config,
                         const RedisAddress& redis, std::atomic<std::uint64_t>* bytes = nullptr,
                         const std::string& supervisor = {});

// The same in this process, at once and without a library, for a caller that waits for the result: what became of all
// the jobs, or that their owner lives.  Throws ConnectionLost.  If Redis refuses something, throws UnexpectedReply once
// the rest is done.
RecoveryResult recover_orphaned_jobs(const OrphanedJobs& orphaned_jobs, const Config& config,
                                     const RedisAddress& redis);

}  // namespace brood
