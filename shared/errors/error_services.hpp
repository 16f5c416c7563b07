#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/base/secret.hpp"
#include "shared/config/config.hpp"
#include "shared/errors/error_post.hpp"
#include "shared/scoreboard/error_counts.hpp"

namespace brood {

// The services that a configuration names, with their secrets.
struct ErrorServices {
  std::optional<SentryDsn> sentry;
  Secret honeybadger_api_key;  // empty: none
  std::optional<WebhookAddress> webhook;
  Secret webhook_secret;
};

// Reads the secrets, each from its file or variable, and checks them.  Throws ConfigError, which names the setting and
// holds no secret.
ErrorServices read_error_services(const ErrorSettings& settings);

// Whether failures are reported at all.
inline bool reports_errors(const Config& config) { return config.on_error || config.errors.has_service(); }

// The sinks of a configuration.
std::vector<ErrorSink> sinks_of(const Config& config);
// The address of this sink; nullopt: it is the program, or a service that is not configured.
std::optional<HttpEndpoint> endpoint_of(const Config& config, const ErrorServices& services, ErrorSink sink);
bool uses_tls(const Config& config, const ErrorServices& services, ErrorSink sink);

}  // namespace brood
