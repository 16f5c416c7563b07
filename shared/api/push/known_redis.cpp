#include "shared/api/push/known_redis.hpp"

#include <unistd.h>

#include <brood/client.hpp>

#include "shared/base/paths.hpp"
#include "shared/config/config.hpp"
#include "shared/config/job_environment.hpp"
#include "shared/config/reading/load_config.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "shared/store/gem_lock.hpp"

namespace brood {
namespace {

// Runs `find` and turns its exceptions into RedisError.
template <typename Find>
KnownRedis known_or_error(Find find) {
  try {
    return find();
  } catch (const std::exception& error) {
    throw RedisError(std::string("cannot determine the address of Redis: ") + error.what());
  }
}

std::string ask_told_shard() { return told_shard(); }

}  // namespace

EncryptionSettings known_keys(const EncryptionSettings& configured) {
  EncryptionSettings told = keys_told();
  return told.keys.empty() ? configured : told;
}

KnownRedis known_redis() {
  return known_or_error([] {
    const std::optional<RedisSettings> told = redis_told_to_jobs();
    if (access(system_config_path, R_OK) != 0)
      return KnownRedis{locate_shards(told.value_or(RedisSettings{})), DeadLimits::none(), told_times(), keys_told(),
                        ask_told_shard};
    const Config config = load_config(system_config_path, {});
    if (config.compatibility.serves_unique_jobs_gem) serve_gem_locks(true);
    const auto times = told_times();
    return KnownRedis{locate_shards(told.value_or(config.redis)),
                      told ? DeadLimits::none() : DeadLimits{config.dead_max_jobs, config.dead_timeout.count()},
                      times ? times : config.compatibility.time_unit(), known_keys(config.encryption), ask_told_shard};
  });
}

KnownRedis known_redis(const std::string& url) {
  return known_or_error([&] {
    KnownRedis known{locate_shards({.url = url, .user = {}, .password_file = {}}), DeadLimits::none(), told_times()};
    known.encryption = keys_told();
    return known;
  });
}

}  // namespace brood
