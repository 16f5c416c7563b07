#pragma once

#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// In a takeover one usable shard is enough: a shard that refuses us for now is no reason to keep the previous program.
enum class Wanted { every_shard, one_shard };

// `brood run --check`: prints what the configuration asks for, and whether Redis, the libraries and the sandboxes allow
// it.  Changes nothing.  With `startup` the libraries' startup handlers run too.  Returns the exit status: faults that
// an operator must fix come before those that may pass by themselves.
int check_configuration(const Config& config, const std::vector<RedisAddress>& shards, Wanted wanted,
                        bool startup = false);

}  // namespace brood
