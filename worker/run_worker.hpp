#pragma once

#include <vector>

#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/scoreboard/worker_setup.hpp"
#include "worker/preload.hpp"

namespace brood {

// The body of a forked worker: fetches, performs and settles jobs until the order to stop.  It serves one of the
// `shards` at a time, which its record names.  `preloaded` comes from the template of which this process is a copy; if
// it is no copy, the libraries are not loaded yet.  Returns the exit status: 0 after leaving in order, 78 when a job
// library cannot be used, 75 when a library's own code threw before the worker was ready, which may work the next time.
int run_worker(const WorkerSetup& worker_setup, const Config& config, const Identity& identity,
               const std::vector<RedisAddress>& shards, Preloaded& preloaded);

}  // namespace brood
