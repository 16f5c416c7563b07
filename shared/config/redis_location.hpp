#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/base/paths.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// The URL of the Redis to use: the settings' (command line or configuration), else that of REDIS_URL or of the variable
// that REDIS_PROVIDER names, else "embedded".  Throws AddressError when REDIS_PROVIDER names no variable that is set.
std::string redis_url(const RedisSettings& settings, const Environment& environment = process_environment);

// True when the supervisor starts a redis-server of its own.
bool uses_embedded_redis(const RedisSettings& settings, const Environment& environment = process_environment);

// The address behind redis_url(), with the settings' user and the content of their password file.  Throws AddressError.
RedisAddress locate_redis(const RedisSettings& settings, const Environment& environment = process_environment);

// The same for every shard, at least one, in the order of the configuration; locate_redis() is the first.
std::vector<RedisAddress> locate_shards(const RedisSettings& settings,
                                        const Environment& environment = process_environment);

// Tells jobs which Redis their worker uses, by the variables BROOD_REDIS_URL, BROOD_REDIS_USER and
// BROOD_REDIS_PASSWORD_FILE, and what goes with them, of its environment.  A client in a job, and a brood command in a
// program that a job starts, prefer it to the Redis of the machine's configuration.  Where redis_url() throws, no URL
// is told.  With share_with_jobs = false nothing is told, and the variable that gave the worker its URL is removed.
void tell_jobs_of_redis(const RedisSettings& settings);

// What a worker has told; nullopt: this is no job, nor was it started by one.
std::optional<RedisSettings> redis_told_to_jobs(const Environment& environment = process_environment);

}  // namespace brood
