#include "supervisor/cli/access/redis_access.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "shared/base/ascii.hpp"
#include "shared/config/job_environment.hpp"
#include "shared/config/reading/load_config.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "shared/store/gem_lock.hpp"
#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {
namespace {

std::string percent_encoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    encoded += ascii::is_letter_or_digit(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace

void RedisAccess::add_options(CommandLine& line) {
  line.option("--redis", url, "URL",
              "redis://, rediss://, unix://, sentinel:// or cluster:// address, or \"embedded\"");
  line.option("-C,--config", config, "FILE",
              "Configuration file with the Redis to use (default: /etc/brood/brood.toml, if there is one)");
  line.option("--shard", shard, "NAME", "One of several shards, by its name in the configuration (default: all)");
}

Config RedisAccess::configuration() const {
  ConfigOverrides overrides;
  if (!url.empty()) overrides.redis_url = url;
  const std::string file = config_path_or_default(config);
  Config found = load_config(file, overrides);
  // A command that a job has started uses the Redis of that job, unless options name another.
  const std::optional<RedisSettings> of_a_job = url.empty() && config.empty() ? redis_told_to_jobs() : std::nullopt;
  if (of_a_job) found.redis = *of_a_job;
  // The settings in the machine's file are for the Redis of that file.
  const bool is_told = !config.empty() || (!file.empty() && url.empty() && !of_a_job);
  if (!is_told) {
    found.dead_max_jobs = no_limit_of_dead;
    found.dead_timeout = std::chrono::seconds(no_limit_of_dead);
  }
  tell_times(found.compatibility.time_unit());
  if (found.compatibility.serves_unique_jobs_gem) tell_to_serve_gem_locks(true);
  tell_tls(found.redis.tls);
  return found;
}

std::vector<RedisAddress> RedisAccess::shards() const {
  const RedisSettings settings = configuration().redis;
  std::vector<RedisAddress> all = locate_shards(settings);
  if (all.size() == 1 && settings.shard_list.empty() && uses_embedded_redis(settings) &&
      access(all.front().socket_path.c_str(), F_OK) != 0) {
    throw ConnectionLost("none is configured, and the embedded one runs only while \"brood run\" does (" +
                         all.front().socket_path + ")");
  }
  if (!shard) return all;
  std::vector<std::string> names;
  for (const RedisAddress& one : all) {
    if (one.shard == *shard) return {one};
    if (!one.shard.empty()) names.push_back(one.shard);
  }
  throw UsageError(names.empty() ? fmt::format("there is no shard \"{}\": no [[redis.shard]] is configured", *shard)
                                 : fmt::format("there is no shard \"{}\", but {}", *shard, fmt::join(names, ", ")));
}

KnownRedis RedisAccess::known() const {
  std::vector<RedisAddress> meant = shards();
  return {std::move(meant), DeadLimits::none(), told_times(), known_keys(configuration().encryption),
          [] { return told_shard(); }};
}

RedisAddress RedisAccess::locate() const {
  const std::vector<RedisAddress> meant = shards();
  if (meant.size() == 1) return meant.front();
  std::vector<std::string> names;
  for (const RedisAddress& one : meant) names.push_back(one.shard);
  throw UsageError(fmt::format("choose a shard: --shard {}", fmt::join(names, " or ")));
}

std::string url_of(const RedisAddress& address) {
  const bool has_credentials = !address.user.empty() || !address.password.empty();
  const std::string credentials = has_credentials ? percent_encoded(address.user) + ":" +
                                                        percent_encoded(std::string(address.password.view())) + "@"
                                                  : "";
  if (!address.socket_path.empty())
    return fmt::format("unix://{}{}?db={}", credentials, address.socket_path, address.db);
  const auto host_text = [](const std::string& host) {
    return host.find(':') == std::string::npos ? host : "[" + host + "]";
  };
  if (address.must_be_found()) {
    std::string known;
    for (const RedisSeed& seed : address.seeds)
      known += fmt::format("{}{}:{}", known.empty() ? "" : ",", host_text(seed.host), seed.port);
    if (address.in_cluster) return fmt::format("cluster://{}{}", credentials, known);
    return fmt::format("sentinel://{}{}/{}?db={}", credentials, known, address.master, address.db);
  }
  return fmt::format("{}://{}{}:{}/{}", address.tls ? "rediss" : "redis", credentials, host_text(address.host),
                     address.port, address.db);
}

}  // namespace brood
