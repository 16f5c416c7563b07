#pragma once

#include <vector>

#include "shared/redis/address.hpp"
#include "shared/store/in_flight/recover_worker.hpp"

namespace brood {

// The body of a short-lived child.  Gives back in-flight lists that no field names, once their owners are known to be
// dead: they gave no sign of life for a minute, as for other hosts' jobs in general.  Takes two minutes if there are
// such lists.  Then lets go of locks and slots of limits whose holders are dead in that way, or have settled.  `shards`
// are all that are configured.  Returns an exit status: see recovery_process.hpp.
int sweep_strays(const OwnIncarnations& own, const RedisAddress& redis, const std::vector<RedisAddress>& shards);

}  // namespace brood
