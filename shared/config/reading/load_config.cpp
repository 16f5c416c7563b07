#include "shared/config/reading/load_config.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "shared/base/log_line.hpp"
#include "shared/base/processors.hpp"
#include "shared/config/reading/root_section.hpp"
#include "shared/config/reading/toml_section.hpp"

namespace brood {
namespace {

using namespace setting;
using namespace std::chrono_literals;

bool holds_password(const std::string& url) {
  const std::size_t at = url.find('@');
  return at != std::string::npos && url.substr(0, at).find(':', url.find("://") + 3) != std::string::npos;
}

void warn_of_permissions(const std::string& path, mode_t mode, Config& config) {
  const std::string shown = log::printable(path);
  if (mode & S_IWOTH) config.warnings.push_back(shown + " can be changed by every user of this machine");
  const auto& shards = config.redis.shard_list;
  const bool one_holds_a_password =
      holds_password(config.redis.url) ||
      std::any_of(shards.begin(), shards.end(), [](const ShardSettings& shard) { return holds_password(shard.url); });
  if ((mode & S_IROTH) && one_holds_a_password)
    config.warnings.push_back(shown + " holds a password and can be read by every user of this machine");
}

void read_file(const std::string& path, const ConfigFile& file, Config& config) {
  parse_config(path, file.text, [&](const ConfigSection& root) { read_root(root, config); });
  const std::string& url = config.redis.url;
  if (config.redis.tls && (url.starts_with("redis://") || url.starts_with("unix:") || url.starts_with('/')))
    config.warnings.push_back(
        log::printable(path) +
        " has a section [redis.tls], but the address of Redis is no rediss://: TLS is not spoken");
  if (config.otlp.tls && config.otlp.endpoint.starts_with("http:"))
    config.warnings.push_back(
        log::printable(path) +
        " has a section [otlp.tls], but the collector's endpoint is no https://: TLS is not spoken");
  warn_of_permissions(path, file.mode, config);
  config.file = file;
}

void apply(const ConfigOverrides& overrides, Config& config) {
  CapsuleSettings& default_capsule = config.capsules[0];
  if (overrides.concurrency) {
    const int least = config.capsules.size() > 1 ? 0 : 1;
    default_capsule.concurrency =
        static_cast<int>(check_count({"--concurrency"}, *overrides.concurrency, least, Config::most_workers));
  }
  if (!overrides.queues.empty()) {
    std::vector<QueueOrder::Entry> entries;
    for (const std::string& queue : overrides.queues) entries.push_back(read_queue({"--queue"}, queue));
    set_queues({"--queue"}, default_capsule, std::move(entries));
  }
  if (!overrides.require.empty()) config.require.clear();
  for (const std::string& path : overrides.require) config.require.push_back(read_path({"--require"}, path));
  if (overrides.shutdown_timeout) {
    const Place place{"--timeout"};
    config.shutdown_timeout =
        check_duration(place, read_duration(place, *overrides.shutdown_timeout), 1ms, longest_time);
  }
  if (overrides.environment) config.environment = check_name({"--environment"}, *overrides.environment);
  if (overrides.tag) config.tag = check_name({"--tag"}, *overrides.tag);
  if (overrides.redis_url) {
    config.redis.url = check_redis_url({"--redis"}, *overrides.redis_url);
    config.redis.shard_list.clear();
  }
  if (overrides.log_format) config.log.format = read_format({"--log-format"}, *overrides.log_format);
  if (overrides.verbose) config.log.level = log::Level::debug;
}

std::string environment_of_sidekiq() {
  for (const char* const variable : {"APP_ENV", "RAILS_ENV", "RACK_ENV"}) {
    const char* const value = std::getenv(variable);
    if (value && *value) return check_name({variable}, value);
  }
  return "development";
}

}  // namespace

Config load_config(const std::string& path, const ConfigOverrides& overrides) {
  if (path.ends_with(".yml") || path.ends_with(".yaml"))
    Place{path}.refuse("is YAML, as Sidekiq's configuration is; translate it: brood import " + path + " > brood.toml");
  return load_config(path, path.empty() ? ConfigFile{} : read_config_file(path), overrides);
}

Config load_config(const std::string& path, const ConfigFile& file, const ConfigOverrides& overrides) {
  Config config;
  config.capsules.push_back({.name = "default", .concurrency = usable_processors()});
  config.environment.clear();
  if (!path.empty()) read_file(path, file, config);
  apply(overrides, config);
  if (config.environment.empty()) config.environment = environment_of_sidekiq();
  check_count({"concurrency of all capsules together"}, config.concurrency(), 1, Config::most_workers);
  return config;
}

}  // namespace brood
