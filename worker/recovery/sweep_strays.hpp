#pragma once

#include <vector>

#include "shared/redis/address.hpp"
#include "shared/store/in_flight/recover_worker.hpp"

namespace brood {

// The body of a short-lived child: gives back in-flight lists that no field names, once their owners are known to be
// dead: without a sign of life for a minute, as for other hosts' jobs in general.  Takes two minutes if there are any.
// Then locks and slots of limits are let go that those hold who are dead in that way, or have settled.  `shards` are
// all that are configured.  Returns an exit status: see recovery_process.hpp.
int sweep_strays(const OwnIncarnations& own, const RedisAddress& redis, const std::vector<RedisAddress>& shards);

}  // namespace brood
