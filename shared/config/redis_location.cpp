#include "shared/config/redis_location.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "shared/base/plain_number.hpp"
#include "shared/config/password_files.hpp"
#include "shared/config/shard_places.hpp"
#include "shared/redis/password_file.hpp"

namespace brood {
namespace {

constexpr const char* embedded = "embedded";
constexpr const char* drain_word = "drain";
constexpr const char *told_ca = "BROOD_REDIS_TLS_CA", *told_cert = "BROOD_REDIS_TLS_CERT",
                     *told_key = "BROOD_REDIS_TLS_KEY", *told_server_name = "BROOD_REDIS_TLS_SERVER_NAME",
                     *told_min_version = "BROOD_REDIS_TLS_MIN_VERSION", *told_verify = "BROOD_REDIS_TLS_VERIFY";
constexpr const char *told_url = "BROOD_REDIS_URL", *told_user = "BROOD_REDIS_USER",
                     *told_password_file = "BROOD_REDIS_PASSWORD_FILE", *told_shards = "BROOD_REDIS_SHARDS",
                     *told_sentinel_user = "BROOD_REDIS_SENTINEL_USER",
                     *told_sentinel_password_file = "BROOD_REDIS_SENTINEL_PASSWORD_FILE",
                     *told_cluster_shards = "BROOD_REDIS_CLUSTER_SHARDS",
                     *told_cluster_drain = "BROOD_REDIS_CLUSTER_DRAIN", *told_wait = "BROOD_REDIS_WAIT",
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

Secret read_password(const std::string& path) {
  auto password = read_password_file(path);
  if (!password) throw AddressError("cannot read the Redis password from " + path);
  return *std::move(password);
}

bool names_a_variable(const Environment& environment) {
  const char* const provider = environment("REDIS_PROVIDER");
  return provider != nullptr && *provider != '\0';
}

// The variable that holds the URL when no setting gives it.  As in Sidekiq, REDIS_PROVIDER may name it.
std::string variable_of_url(const Environment& environment) {
  return names_a_variable(environment) ? environment("REDIS_PROVIDER") : "REDIS_URL";
}

TlsVerify verify_told(const std::string& text) try {
  return TlsVerify::parse(text);
} catch (const std::invalid_argument& error) {
  throw AddressError(std::string(told_verify) + " " + error.what());
}

TlsSettings tls_told(const Environment& environment) {
  const auto file = [&](const char* variable) { return TlsSettings::File{heard(variable, environment), variable}; };
  const std::string version = heard(told_min_version, environment);
  if (!version.empty() && version != "1.2" && version != "1.3")
    throw AddressError(std::string(told_min_version) + " must be 1.2 or 1.3");
  const std::string verify = heard(told_verify, environment);
  return {.ca = file(told_ca),
          .cert = file(told_cert),
          .key = file(told_key),
          .server_name = heard(told_server_name, environment),
          .min_version = version == "1.3" ? TlsSettings::Version::tls_1_3 : TlsSettings::Version::tls_1_2,
          .verify = verify.empty() ? TlsVerify{} : verify_told(verify)};
}

bool is_told_of_tls(const Environment& environment) {
  return !heard(told_ca, environment).empty() || !heard(told_cert, environment).empty() ||
         !heard(told_server_name, environment).empty() || !heard(told_verify, environment).empty();
}

struct UrlWithout {
  std::string url, user;
};
// A URL without user and password, as RedisAddress::parse() reads it.
UrlWithout without_credentials(const std::string& url) {
  const std::size_t mark = url.find("://");
  if (mark == url.npos) return {url, ""};
  const std::size_t begin = mark + 3, at = url.rfind('@', url.find('/', begin));
  if (at == url.npos || at < begin) return {url, ""};
  std::string user;
  try {
    user = RedisAddress::parse(url).user;
  } catch (const AddressError&) {
  }
  return {std::string(url).erase(begin, at + 1 - begin), user};
}

// One line for each shard, with tabs between its members: no setting may contain a tab or a line feed.
std::string told_of(const RedisSettings& settings) {
  std::string text;
  for (const ShardSettings& shard : settings.shard_list) {
    if (shard.is_empty_place) continue;
    UrlWithout where = {shard.url, ""};
    if (!settings.share_password_in_url) where = without_credentials(shard.url);
    text += shard.name + '\t' + where.url + '\t' + (shard.user.empty() ? where.user : shard.user) + '\t' +
            credential_path(shard.password_file.empty() ? shard.private_password_file : shard.password_file) +
            (shard.drain ? std::string("\t") + drain_word : "") + '\n';
  }
  return text;
}

// Numbers of shards, with a space behind each.
std::string told_of(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += std::to_string(number) + ' ';
  return text;
}

std::vector<int> numbers_told_by(const std::string& text) {
  std::istringstream words(text);
  std::vector<int> numbers;
  for (int number = 0; words >> plain(number);) numbers.push_back(number);
  return numbers;
}

std::vector<ShardSettings> shards_told_by(const std::string& text) {
  std::vector<ShardSettings> shards;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ShardSettings shard;
    std::istringstream members(line);
    std::string drain;
    for (std::string* const member : {&shard.name, &shard.url, &shard.user, &shard.password_file, &drain})
      std::getline(members, *member, '\t');
    shard.drain = drain == drain_word;
    if (!shard.url.empty()) shards.push_back(std::move(shard));
  }
  return shards;
}

RedisAddress empty_place(const std::string& shard) {
  RedisAddress address;
  address.shard = shard;
  address.is_empty_place = true;
  return address;
}

void keep_from_jobs(const RedisSettings& settings) {
  for (const char* const variable :
       {told_url, told_user, told_password_file, told_shards, told_cluster_shards, told_cluster_drain,
        told_sentinel_user, told_sentinel_password_file, told_wait, told_wait_timeout, told_ca, told_cert, told_key,
        told_server_name, told_min_version, told_verify})
    unsetenv(variable);
  if (settings.url.empty() && settings.shard_list.empty()) unsetenv(variable_of_url(process_environment).c_str());
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
  return settings.shard_list.empty() && redis_url(settings, environment) == embedded;
}

TlsSettings tls_settings(const RedisSettings& settings, const Environment& environment) {
  return with_paths(settings.tls ? *settings.tls : tls_told(environment), environment);
}

RedisAddress locate_redis(const RedisSettings& settings, const Environment& environment) {
  if (!settings.shard_list.empty()) {
    const std::vector<RedisAddress> shards = locate_shards(settings, environment);
    return *std::find_if(shards.begin(), shards.end(), [](const RedisAddress& shard) { return !shard.is_empty_place; });
  }
  const std::string url = redis_url(settings, environment);
  RedisAddress address;
  if (url == embedded) {
    if (settings.wait > 0) throw AddressError("redis.wait is set, and the embedded Redis has no replicas");
    address.socket_path = embedded_socket_path(environment);
    return address;
  }
  address = RedisAddress::parse(url);
  if (!settings.user.empty()) address.user = settings.user;
  if (!settings.password_file.empty()) {
    address.password_file = credential_path(settings.password_file, environment);
    address.password = read_password(address.password_file);
  }
  if (address.has_sentinels()) {
    address.sentinel_user = settings.sentinel.user;
    if (!settings.sentinel.password_file.empty()) {
      address.sentinel_password_file = credential_path(settings.sentinel.password_file, environment);
      address.sentinel_password = read_password(address.sentinel_password_file);
    }
  }
  if (address.must_be_found() && (settings.tls || is_told_of_tls(environment)))
    address.tls.emplace();  // the scheme of such an address does not show whether TLS is used
  address.wait = {settings.wait, settings.wait_timeout};
  address.certificates = settings.certificates;
  if (address.tls) address.tls = tls_settings(settings, environment);
  return address;
}

std::vector<RedisAddress> locate_shards(const RedisSettings& settings, const Environment& environment) {
  if (settings.located) return *settings.located;
  std::vector<RedisAddress> shards;
  if (settings.shard_list.empty()) {
    shards.push_back(locate_redis(settings, environment));
    for (int number = 1; shards.front().in_cluster && number < settings.shards + settings.empty_places; ++number)
      shards.push_back(is_empty_place(settings, number) ? empty_place(std::to_string(number))
                                                        : in_shard(shards.front(), number));
    for (const int number : settings.drain) {
      if (number >= 0 && static_cast<std::size_t>(number) < shards.size())
        shards[static_cast<std::size_t>(number)].is_drained = true;
    }
    return shards;
  }
  for (const ShardSettings& shard : settings.shard_list) {
    if (shard.is_empty_place) {
      shards.push_back(empty_place(shard.name));
      continue;
    }
    RedisSettings one = settings;
    one.shard_list.clear();
    one.url = shard.url;
    if (!shard.user.empty()) one.user = shard.user;
    if (!shard.password_file.empty()) one.password_file = shard.password_file;
    shards.push_back(locate_redis(one, environment));
    if (shards.back().in_cluster)
      throw AddressError("a cluster has its own shards: give it by redis.url, and not as one of [[redis.shard]]");
    shards.back().shard = shard.name;
    shards.back().is_drained = shard.drain;
  }
  return shards;
}

void remember_shards(RedisSettings& settings) {
  settings.located.reset();
  settings.located = std::make_shared<const std::vector<RedisAddress>>(locate_shards(settings));
}

void tell_jobs_of_redis(const RedisSettings& settings) {
  if (!settings.share_with_jobs) return keep_from_jobs(settings);
  std::string url;
  try {
    if (settings.shard_list.empty()) url = redis_url(settings);
    if (url == embedded) url = "unix://" + embedded_socket_path();
  } catch (const std::runtime_error&) {
  }
  std::string user = settings.user;
  std::string password_file = credential_path(settings.password_file);
  if (!settings.share_password_in_url) {
    const UrlWithout without = without_credentials(url);
    if (without.url != url && settings.url.empty()) tell(variable_of_url(process_environment).c_str(), without.url);
    url = without.url;
    if (user.empty()) user = without.user;
    if (password_file.empty()) password_file = settings.private_password_file;
  }
  tell(told_url, url);
  tell(told_shards, told_of(settings));
  tell(told_user, user);
  tell(told_password_file, password_file);
  tell(told_sentinel_user, settings.sentinel.user);
  tell(told_sentinel_password_file, credential_path(settings.sentinel.password_file));
  tell(told_cluster_shards, url.starts_with("cluster://") ? std::to_string(settings.shards) : "");
  tell(told_cluster_drain, url.starts_with("cluster://") ? told_of(settings.drain) : "");
  tell(told_wait, settings.wait > 0 ? std::to_string(settings.wait) : "");
  tell(told_wait_timeout, settings.wait > 0 ? std::to_string(settings.wait_timeout.count()) : "");
  tell_tls(settings.tls);
}

void tell_tls(const std::optional<TlsSettings>& settings) {
  if (!settings) return;  // they inherit the variables of this process
  // Sets whole paths, since a program that reads them may have other credentials than this service.
  const TlsSettings tls = with_paths(*settings);
  tell(told_ca, tls.ca.path);
  tell(told_cert, tls.cert.path);
  tell(told_key, tls.key.path);
  tell(told_server_name, tls.server_name);
  tell(told_min_version, tls.min_version == TlsSettings::Version::tls_1_3 ? "1.3" : "");
  tell(told_verify, tls.verify.kind == TlsVerify::Kind::full ? "" : tls.verify.text());
}

std::vector<std::string> files_told_to_jobs(const Environment& environment) {
  std::vector<std::string> files;
  for (const char* const variable : {told_password_file, told_sentinel_password_file, told_ca, told_cert, told_key}) {
    if (std::string file = heard(variable, environment); !file.empty()) files.push_back(std::move(file));
  }
  for (ShardSettings& shard : shards_told_by(heard(told_shards, environment))) {
    if (!shard.password_file.empty()) files.push_back(std::move(shard.password_file));
  }
  return files;
}

std::optional<RedisSettings> redis_told_to_jobs(const Environment& environment) {
  const std::string url = heard(told_url, environment);
  std::vector<ShardSettings> shards = shards_told_by(heard(told_shards, environment));
  if (url.empty() && shards.empty()) return std::nullopt;
  RedisSettings told{
      .url = url, .user = heard(told_user, environment), .password_file = heard(told_password_file, environment)};
  told.shard_list = std::move(shards);
  told.sentinel = {heard(told_sentinel_user, environment), heard(told_sentinel_password_file, environment)};
  if (const int count = leading_number<int>(heard(told_cluster_shards, environment)); count > 0) told.shards = count;
  told.drain = numbers_told_by(heard(told_cluster_drain, environment));
  told.wait = leading_number<int>(heard(told_wait, environment));
  if (const int timeout = leading_number<int>(heard(told_wait_timeout, environment)); timeout > 0)
    told.wait_timeout = std::chrono::milliseconds(timeout);
  return told;
}

}  // namespace brood
