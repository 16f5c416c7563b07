#include "shared/config/job_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "shared/config/config.hpp"
#include "shared/config/password_files.hpp"

namespace brood {
namespace {

constexpr const char* shard_variable = "BROOD_REDIS_SHARD";

}  // namespace

void tell_shard(const std::string& name) {
  if (name.empty())
    unsetenv(shard_variable);
  else
    setenv(shard_variable, name.c_str(), 1);
}

std::string told_shard(const Environment& environment) {
  const char* const told = environment(shard_variable);
  return told ? told : "";
}

namespace {

constexpr const char* told_keys = "BROOD_ENCRYPTION_KEYS";

std::optional<int> read_key_version(std::string_view text) {
  int version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc{} || end != text.data() + text.size() || version < 1) return std::nullopt;
  return version;
}

}  // namespace

void tell_jobs_of_keys(const EncryptionSettings& settings, bool share_with_jobs) {
  if (!share_with_jobs) {
    unsetenv(told_keys);
    return;
  }
  if (settings.keys.empty()) return;  // they inherit the variable of this process
  std::string told;
  for (const auto& [version, file] : settings.keys)
    told += fmt::format("{}{}={}", told.empty() ? "" : ",", version, credential_path(file.path));
  if (settings.active != 0) told += fmt::format(",active={}", settings.active);
  setenv(told_keys, told.c_str(), 1);
}

void keep_error_secrets_from_jobs(const ErrorSettings& settings) {
  for (const SecretSetting* const secret :
       {&settings.sentry_dsn, &settings.honeybadger_api_key, &settings.webhook, &settings.webhook_secret}) {
    if (!secret->variable.empty()) unsetenv(secret->variable.c_str());
  }
}

EncryptionSettings keys_told(const Environment& environment) {
  EncryptionSettings settings;
  const char* const told = environment(told_keys);
  std::string_view rest = told == nullptr ? "" : told;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = one.find('=');
    const std::string_view name = one.substr(0, equals), value = equals == one.npos ? "" : one.substr(equals + 1);
    const bool says_which = name == "active";
    const std::optional<int> version = read_key_version(says_which ? value : name);
    if (!version || value.empty())
      throw ConfigError(fmt::format("{} must be like \"1=/etc/brood/key1,2=/etc/brood/key2\"", told_keys));
    if (says_which) {
      settings.active = *version;
    } else {
      settings.keys[*version] = {std::string(value), told_keys};
    }
  }
  return settings;
}

}  // namespace brood
