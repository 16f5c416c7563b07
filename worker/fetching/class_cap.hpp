#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/config/cap_settings.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// Where a job that was fetched from `queue` waits for a place of its class's cap; empty: it may run.  Of a job that
// wraps another, as Active Job's do, either class counts.  Without caps of classes a payload is not looked at.
std::string aside_for_job(const std::vector<CapSettings>& caps, std::string_view queue, std::string_view payload);

// How many jobs a worker of this capsule may fetch at a time, `most` at most.  One that is its capsule's only worker
// performs jobs in the order of their queues.  Where a class of theirs has a cap it fetches one by one: a job that it
// sets aside is then the next that it takes, if there is a place, and no job of a batch overtakes it.
int jobs_at_once(const CapsuleSettings& capsule, int most);

// Of each shard the share that it has of these caps; a place that is empty has none.
std::vector<std::vector<CapSettings>> shares_of_caps(const std::vector<CapSettings>& caps,
                                                     const std::vector<RedisAddress>& shards);

}  // namespace brood
