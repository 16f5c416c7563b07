#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/base/paths.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// The URL of the Redis to use: that of the settings (command line or configuration), else that of REDIS_URL or of the
// variable that REDIS_PROVIDER names, else "embedded".  Throws AddressError if REDIS_PROVIDER names a variable that is
// not set.
std::string redis_url(const RedisSettings& settings, const Environment& environment = process_environment);

// Whether the supervisor starts a redis-server of its own.
bool uses_embedded_redis(const RedisSettings& settings, const Environment& environment = process_environment);

// The settings of TLS, if it is used: from the configuration, else from the variables BROOD_REDIS_TLS_CA, _CERT, _KEY,
// _SERVER_NAME and _MIN_VERSION.  Throws AddressError.
TlsSettings tls_settings(const RedisSettings& settings, const Environment& environment = process_environment);

// The address behind redis_url(), with the settings' user, the content of their password file, and tls_settings().
// Throws AddressError.
RedisAddress locate_redis(const RedisSettings& settings, const Environment& environment = process_environment);

// The same for every shard, at least one, in the order of the configuration; locate_redis() is the first.
std::vector<RedisAddress> locate_shards(const RedisSettings& settings,
                                        const Environment& environment = process_environment);

// Makes locate_shards() return for these settings, and for copies of them, what it returns now, even if the files with
// their passwords change.  A long-lived process needs this: a file that is missing for a moment, while it is replaced,
// must not end it.  Throws AddressError.
void remember_shards(RedisSettings& settings);

// Sets the variables that tell jobs which Redis their worker uses: BROOD_REDIS_URL, BROOD_REDIS_USER,
// BROOD_REDIS_PASSWORD_FILE, BROOD_REDIS_TLS_... and the others of this file.  With several shards BROOD_REDIS_SHARDS
// names them all, instead of the first variable.  Clients in jobs, and brood commands in programs that jobs start,
// prefer these to the machine's configuration.  If redis_url() throws, no URL is set.
//
// The environment holds no password: the URL is set without it, also in the variable that gave the worker its URL, and
// the password is in the file.  With share_password_in_url both URLs have it.  With share_with_jobs = false nothing is
// set, and the variable that gave the worker its URL is removed.
void tell_jobs_of_redis(const RedisSettings& settings);

// Sets the variables of TLS that locate_redis() reads, for jobs and for the clients of this process.
void tell_tls(const std::optional<TlsSettings>& settings);

// The files that a client of a job reads to find Redis, from these variables: the password and the files of TLS.
std::vector<std::string> files_told_to_jobs(const Environment& environment = process_environment);

// The settings in the variables that a worker has set; nullopt: this process is no job, nor was it started by one.
std::optional<RedisSettings> redis_told_to_jobs(const Environment& environment = process_environment);

}  // namespace brood
