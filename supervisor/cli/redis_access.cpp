#include "supervisor/cli/redis_access.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>

#include "shared/config/redis_location.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "supervisor/cli/command_line.hpp"

namespace brood {
namespace {

std::string percent_encoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    encoded += std::isalnum(static_cast<unsigned char>(c)) ? std::string(1, c)
                                                           : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace

void RedisAccess::add_options(CommandLine& line) {
  line.option("--redis", url, "URL", "redis:// or unix:// address, or \"embedded\"");
  line.option("-C,--config", config, "FILE",
              "Configuration file that names Redis (default: /etc/brood/brood.toml, if there is one)");
}

Config RedisAccess::configuration() const {
  ConfigOverrides overrides;
  if (!url.empty()) overrides.redis_url = url;
  Config found = load_config(config_path_or_default(config), overrides);
  // A program that a job has started means the Redis of that job, unless it says otherwise.
  if (url.empty() && config.empty()) found.redis = redis_told_to_jobs().value_or(found.redis);
  tell_times(found.compatibility.time_unit());
  return found;
}

RedisAddress RedisAccess::locate() const {
  const RedisSettings settings = configuration().redis;
  RedisAddress address = locate_redis(settings);
  if (uses_embedded_redis(settings) && access(address.socket_path.c_str(), F_OK) != 0) {
    throw ConnectionLost("none is configured, and the embedded one runs only while \"brood run\" does (" +
                         address.socket_path + ")");
  }
  return address;
}

std::string url_of(const RedisAddress& address) {
  const bool has_credentials = !address.user.empty() || !address.password.empty();
  const std::string credentials =
      has_credentials ? percent_encoded(address.user) + ":" + percent_encoded(address.password) + "@" : "";
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
  return fmt::format("redis://{}{}:{}/{}", credentials, host_text(address.host), address.port, address.db);
}

}  // namespace brood
