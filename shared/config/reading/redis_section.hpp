#pragma once

#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [redis], with its shards, its sentinels and its TLS.
void read_redis(const ConfigSection& section, RedisSettings& redis);

}  // namespace brood
