#pragma once

#include <string>
#include <string_view>

#include "shared/errors/error_report.hpp"
#include "shared/http/http_call.hpp"

namespace brood {

// The forms in which error services take reports.  Pure, except that an envelope has the current time.

// A project of Sentry: "https://KEY@HOST/PROJECT", as Sentry shows it.
struct SentryDsn {
  HttpEndpoint endpoint;  // with the path before the project's number
  std::string key, project;

  // Throws std::invalid_argument: what() is the second half of a sentence, and does not contain the DSN.
  static SentryDsn parse(std::string_view dsn);
};

// An address for reports: an http or https URL, perhaps with a query.
struct WebhookAddress {
  HttpEndpoint endpoint;
  std::string target;  // the path as it was written, and the query

  // Throws std::invalid_argument as SentryDsn::parse() does.
  static WebhookAddress parse(std::string_view url);
};

// An envelope with one event: https://develop.sentry.dev/sdk/envelopes/
HttpPost post_to_sentry(const SentryDsn& dsn, const ErrorReport& report, std::string_view version);

// A notice: https://docs.honeybadger.io/api/reporting-exceptions/
HttpPost post_to_honeybadger(const std::string& endpoint, std::string_view api_key, const ErrorReport& report,
                             std::string_view version);

// The report as JSON.  With a `secret` it is signed: X-Brood-Signature has "sha256=" and the HMAC of the body in hex.
HttpPost post_to_webhook(const WebhookAddress& address, std::string_view secret, const ErrorReport& report);

// Throws std::invalid_argument for a key that may not be in a header.
void check_api_key(std::string_view key);

}  // namespace brood
