#pragma once

#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// While brood runs, a shard that refuses us for now is no reason to keep the program before: then one shard is enough.
enum class Wanted { every_shard, one_shard };

// `brood run --check`: prints what the configuration asks for, and whether Redis, the libraries and the
// sandboxes allow it.  Changes nothing.  With `startup` the libraries' startup handlers run too.  Returns the exit
// status: what a person must mend comes before what may pass by itself.
int check_configuration(const Config& config, const std::vector<RedisAddress>& shards, Wanted wanted,
                        bool startup = false);

}  // namespace brood
