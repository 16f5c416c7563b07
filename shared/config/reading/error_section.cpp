#include "shared/config/reading/error_section.hpp"

#include <string_view>

#include "shared/config/http_endpoint.hpp"
#include "shared/config/reading/command_section.hpp"
#include "shared/config/reading/tls_section.hpp"

namespace brood {
namespace {

using namespace setting;

constexpr std::string_view of_variable = "env:";
constexpr std::size_t longest_release = 200;

// Reads a secret from `key` or `key`_file.
void read_secret(const ConfigSection& section, const std::string& key, SecretSetting& secret) {
  section.text(key, [&](const Place& at, const std::string& text) {
    secret.place = at.name;
    if (text.starts_with(of_variable))
      secret.variable = check_variable(at, text.substr(of_variable.size()));
    else
      secret.value = check_text(at, text);
  });
  section.text(key + "_file", [&](const Place& at, const std::string& path) {
    secret.place = at.name;
    secret.file = read_path_or_credential(at, path);
  });
}

}  // namespace

void read_on_error(const ConfigSection& section, Config& config) {
  read_error_program(section, config.on_error);
  ErrorSettings& errors = config.errors;
  read_secret(section, "sentry_dsn", errors.sentry_dsn);
  read_secret(section, "honeybadger_api_key", errors.honeybadger_api_key);
  section.text("honeybadger_endpoint", [&](const Place& at, const std::string& url) {
    try {
      HttpEndpoint::parse(url);
    } catch (const std::invalid_argument& error) {
      at.refuse(error.what());
    }
    errors.honeybadger_endpoint = url;
  });
  read_secret(section, "webhook", errors.webhook);
  read_secret(section, "webhook_secret", errors.webhook_secret);
  if (errors.webhook_secret.is_set() && !errors.webhook.is_set())
    Place{errors.webhook_secret.place}.refuse("signs what goes to a webhook, and none is set");
  section.section("tls", [&](const ConfigSection& tls) { read_tls(tls, errors.tls.emplace()); });
  section.text("when", [&](const Place& at, const std::string& word) {
    errors.when = choose<ErrorSettings::When>(
        at, word, {{"failure", ErrorSettings::When::failure}, {"death", ErrorSettings::When::death}});
  });
  section.text("release", [&](const Place& at, const std::string& release) {
    if (release.size() > longest_release) at.refuse("must have 200 bytes at most");
    errors.release = check_name(at, release);
  });
  section.boolean("arguments", errors.arguments);
  section.boolean("backtrace", errors.backtrace);
  section.count("storm_after", errors.storm_after, 0, 1'000'000);
  section.count("queue", errors.queue, 1, 10'000);
  section.count("at_once", errors.at_once, 1, 16);
}

}  // namespace brood
