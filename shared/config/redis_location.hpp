#pragma once

#include <optional>
#include <string>

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

// The clients of a job, and brood's commands in programs that it starts, use the Redis that its worker was configured
// with, before that of the machine: the worker tells them by the variables BROOD_REDIS_URL, BROOD_REDIS_USER and
// BROOD_REDIS_PASSWORD_FILE of its environment.  Where redis_url() throws, nothing is told.  With share_with_jobs =
// false nothing is told either, and the variable that the worker itself has the URL from is taken away.
void tell_jobs_of_redis(const RedisSettings& settings);

// What a worker has told; nullopt: this is no job, nor was it started by one.
std::optional<RedisSettings> redis_told_to_jobs(const Environment& environment = process_environment);

}  // namespace brood
