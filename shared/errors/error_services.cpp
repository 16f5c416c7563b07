#include "shared/errors/error_services.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "shared/config/password_files.hpp"
#include "shared/redis/password_file.hpp"

namespace brood {
namespace {

// The secret of a setting; empty if it is not set.
Secret read_secret_setting(const SecretSetting& setting) {
  const setting::Place place{setting.place};
  if (!setting.file.empty() && (!setting.value.empty() || !setting.variable.empty()))
    place.refuse("is set, and so is the setting without _file: leave one of them out");
  if (!setting.file.empty()) {
    const std::string path = credential_path(setting.file);
    errno = 0;
    const std::optional<Secret> read = read_password_file(path);
    if (!read || read->empty())
      place.refuse(fmt::format("{}: {}", path, errno != 0 ? std::strerror(errno) : "it is empty"));
    return *read;
  }
  if (!setting.variable.empty()) {
    const char* const value = std::getenv(setting.variable.c_str());
    if (value == nullptr || *value == '\0')
      place.refuse(fmt::format("the variable {} is not in brood's environment", setting.variable));
    return Secret(value);
  }
  return setting.value;
}

// Calls `parse` with the secret, if it is set.  `parse` throws std::invalid_argument for an invalid one.
template <typename Parse>
void with_secret(const SecretSetting& setting, Parse parse) {
  const Secret secret = read_secret_setting(setting);
  if (secret.empty()) return;
  try {
    parse(secret);
  } catch (const std::invalid_argument& error) {
    setting::Place{setting.place}.refuse(error.what());
  }
}

}  // namespace

ErrorServices read_error_services(const ErrorSettings& settings) {
  ErrorServices services;
  with_secret(settings.sentry_dsn, [&](const Secret& dsn) { services.sentry = SentryDsn::parse(dsn.view()); });
  with_secret(settings.honeybadger_api_key, [&](const Secret& key) {
    check_api_key(key.view());
    services.honeybadger_api_key = key;
  });
  with_secret(settings.webhook, [&](const Secret& url) { services.webhook = WebhookAddress::parse(url.view()); });
  services.webhook_secret = read_secret_setting(settings.webhook_secret);
  return services;
}

std::vector<ErrorSink> sinks_of(const Config& config) {
  std::vector<ErrorSink> sinks;
  if (config.on_error) sinks.push_back(ErrorSink::program);
  if (config.errors.sentry_dsn.is_set()) sinks.push_back(ErrorSink::sentry);
  if (config.errors.honeybadger_api_key.is_set()) sinks.push_back(ErrorSink::honeybadger);
  if (config.errors.webhook.is_set()) sinks.push_back(ErrorSink::webhook);
  return sinks;
}

std::optional<HttpEndpoint> endpoint_of(const Config& config, const ErrorServices& services, ErrorSink sink) {
  switch (sink) {
    case ErrorSink::program:
      return std::nullopt;
    case ErrorSink::sentry:
      return services.sentry ? std::optional(services.sentry->endpoint) : std::nullopt;
    case ErrorSink::honeybadger:
      return HttpEndpoint::parse(config.errors.honeybadger_endpoint);
    case ErrorSink::webhook:
      return services.webhook ? std::optional(services.webhook->endpoint) : std::nullopt;
  }
  return std::nullopt;
}

bool uses_tls(const Config& config, const ErrorServices& services, ErrorSink sink) {
  const std::optional<HttpEndpoint> endpoint = endpoint_of(config, services, sink);
  return endpoint && endpoint->is_tls;
}

}  // namespace brood
