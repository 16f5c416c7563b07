#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/worker_death.hpp"

namespace brood {

// The body of a short-lived child: empties what dead workers had in flight, charges the jobs they died of, and tells
// the crash from its facts.  A library is loaded only for a class that has hooks or death handlers and for an orphan,
// of which nobody knows that, and never in the address space of anything that must go on: it, its debug information, or
// the job's own texts may end this process. Returns its exit status: 0 when every death was answered, 75 when Redis
// went away (call again).  `bytes` counts what moves to and from Redis.
int run_recovery_child(const std::vector<WorkerDeath>& worker_deaths, RecoveryMode mode, const Config& config,
                       const RedisAddress& redis, std::atomic<std::uint64_t>* bytes = nullptr);

// The same for all that a dead supervisor's in-flight hash names; what no record is known of goes back uncharged.
int settle_orphaned_jobs(const OrphanedJobs& orphaned_jobs, RecoveryMode mode, const Config& config,
                         const RedisAddress& redis, std::atomic<std::uint64_t>* bytes = nullptr);

// The same at once, in this process and without a library, for who waits for it: what became of all its jobs, or that
// it lives.  Throws ConnectionLost, and UnexpectedReply after the rest, when something was refused.
RecoveryResult recover_orphaned_jobs(const OrphanedJobs& orphaned_jobs, const Config& config,
                                     const RedisAddress& redis);

// Gives back in-flight lists that no field names, once their owners are known to be dead: those that have shown no sign
// of life for a minute, as for other hosts' jobs in general.  Takes two minutes if there are any.
int sweep_stray_lists(const OwnIncarnations& own, const RedisAddress& redis);

}  // namespace brood
