#include "shared/config/redis_location.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace brood {
namespace {

constexpr const char* embedded = "embedded";
constexpr const char *told_url = "BROOD_REDIS_URL", *told_user = "BROOD_REDIS_USER",
                     *told_password_file = "BROOD_REDIS_PASSWORD_FILE",
                     *told_sentinel_user = "BROOD_REDIS_SENTINEL_USER",
                     *told_sentinel_password_file = "BROOD_REDIS_SENTINEL_PASSWORD_FILE",
                     *told_shards = "BROOD_REDIS_SHARDS", *told_wait = "BROOD_REDIS_WAIT",
                     *told_wait_timeout = "BROOD_REDIS_WAIT_TIMEOUT_MS";

void tell(const char* variable, const std::string& value) {
  if (value.empty())
    unsetenv(variable);
  else
    setenv(variable, value.c_str(), 1);
}

std::string heard(const char* variable, const Environment& environment) {
  const char* const value = environment(variable);
  return value ? value : "";
}

std::string read_password(const std::string& path) {
  std::ifstream file(path);
  std::string password;
  if (!file || !std::getline(file, password)) throw AddressError("cannot read the Redis password from " + path);
  if (!password.empty() && password.back() == '\r') password.pop_back();
  return password;
}

bool names_a_variable(const Environment& environment) {
  const char* const provider = environment("REDIS_PROVIDER");
  return provider != nullptr && *provider != '\0';
}

// The variable that holds the URL when no setting gives it.  As in Sidekiq, REDIS_PROVIDER may name it.
std::string variable_of_url(const Environment& environment) {
  return names_a_variable(environment) ? environment("REDIS_PROVIDER") : "REDIS_URL";
}

void keep_from_jobs(const RedisSettings& settings) {
  for (const char* const variable : {told_url, told_user, told_password_file, told_sentinel_user,
                                     told_sentinel_password_file, told_shards, told_wait, told_wait_timeout})
    unsetenv(variable);
  if (settings.url.empty()) unsetenv(variable_of_url(process_environment).c_str());
}

}  // namespace

std::string redis_url(const RedisSettings& settings, const Environment& environment) {
  if (!settings.url.empty()) return settings.url;

  const std::string name = variable_of_url(environment);
  const bool provided = names_a_variable(environment);
  if (name.find(':') != std::string::npos) {
    throw AddressError("REDIS_PROVIDER holds the name of the variable that has the URL, not a URL");
  }
  const char* url = environment(name.c_str());
  if (url != nullptr && *url != '\0') return url;
  if (provided) throw AddressError("REDIS_PROVIDER names " + name + ", which is not set");
  return embedded;
}

bool uses_embedded_redis(const RedisSettings& settings, const Environment& environment) {
  return redis_url(settings, environment) == embedded;
}

RedisAddress locate_redis(const RedisSettings& settings, const Environment& environment) {
  if (!settings.shard_list.empty()) return locate_shards(settings, environment).front();
  const std::string url = redis_url(settings, environment);
  RedisAddress address;
  if (url == embedded) {
    if (settings.wait > 0) throw AddressError("redis.wait is set, and the embedded Redis has no replicas");
    address.socket_path = embedded_socket_path(environment);
    return address;
  }
  address = RedisAddress::parse(url);
  if (!settings.user.empty()) address.user = settings.user;
  if (!settings.password_file.empty()) address.password = read_password(settings.password_file);
  if (address.has_sentinels()) {
    address.sentinel_user = settings.sentinel.user;
    if (!settings.sentinel.password_file.empty())
      address.sentinel_password = read_password(settings.sentinel.password_file);
  }
  address.wait = {settings.wait, settings.wait_timeout};
  return address;
}

std::vector<RedisAddress> locate_shards(const RedisSettings& settings, const Environment& environment) {
  std::vector<RedisAddress> shards;
  if (settings.shard_list.empty()) {
    shards.push_back(locate_redis(settings, environment));
    for (int number = 1; shards.front().in_cluster && number < settings.shards; ++number)
      shards.push_back(in_shard(shards.front(), number));
    return shards;
  }
  for (const ShardSettings& shard : settings.shard_list) {
    RedisSettings one = settings;
    one.shard_list.clear();
    one.url = shard.url;
    if (!shard.user.empty()) one.user = shard.user;
    if (!shard.password_file.empty()) one.password_file = shard.password_file;
    shards.push_back(locate_redis(one, environment));
    if (shards.back().in_cluster)
      throw AddressError("a cluster has its own shards: give it by redis.url, and not as one of [[redis.shard]]");
    shards.back().shard = shard.name;
  }
  return shards;
}

void tell_jobs_of_redis(const RedisSettings& settings) {
  if (!settings.share_with_jobs) return keep_from_jobs(settings);
  std::string url;
  try {
    url = redis_url(settings);
    if (url == embedded) url = "unix://" + embedded_socket_path();
  } catch (const std::runtime_error&) {
  }
  tell(told_url, url);
  tell(told_user, settings.user);
  tell(told_password_file, settings.password_file);
  tell(told_sentinel_user, settings.sentinel.user);
  tell(told_sentinel_password_file, settings.sentinel.password_file);
  tell(told_shards, url.starts_with("cluster://") ? std::to_string(settings.shards) : "");
  tell(told_wait, settings.wait > 0 ? std::to_string(settings.wait) : "");
  tell(told_wait_timeout, settings.wait > 0 ? std::to_string(settings.wait_timeout.count()) : "");
}

std::optional<RedisSettings> redis_told_to_jobs(const Environment& environment) {
  const std::string url = heard(told_url, environment);
  if (url.empty()) return std::nullopt;
  RedisSettings told{
      .url = url, .user = heard(told_user, environment), .password_file = heard(told_password_file, environment)};
  told.sentinel = {heard(told_sentinel_user, environment), heard(told_sentinel_password_file, environment)};
  if (const int shards = std::atoi(heard(told_shards, environment).c_str()); shards > 0) told.shards = shards;
  told.wait = std::atoi(heard(told_wait, environment).c_str());
  if (const int timeout = std::atoi(heard(told_wait_timeout, environment).c_str()); timeout > 0)
    told.wait_timeout = std::chrono::milliseconds(timeout);
  return told;
}

}  // namespace brood
