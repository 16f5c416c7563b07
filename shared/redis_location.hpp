#pragma once

#include <string>

#include "shared/config.hpp"
#include "shared/paths.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// The URL of the Redis to use: the settings' (command line or configuration), else that of REDIS_URL or of the variable
// that REDIS_PROVIDER names, else "embedded".  Throws AddressError when REDIS_PROVIDER names no variable that is set.
std::string redis_url(const RedisSettings& settings, const Environment& environment = process_environment);

// True when the supervisor starts a redis-server of its own.
bool uses_embedded_redis(const RedisSettings& settings, const Environment& environment = process_environment);

// The address behind redis_url(), with the settings' user and the content of their password file.  Throws AddressError.
RedisAddress locate_redis(const RedisSettings& settings, const Environment& environment = process_environment);

}  // namespace brood
