#pragma once

#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/scoreboard/worker_setup.hpp"

namespace brood {

// The body of a forked worker: fetch, perform, settle, until told to stop.  Returns its exit status: 0 after leaving in
// order, 78 when a job library cannot be used, 75 when its own code threw before it was ready: it may not the next
// time.
int run_worker(const WorkerSetup& worker_setup, const Config& config, const Identity& identity,
               const RedisAddress& redis);

}  // namespace brood
