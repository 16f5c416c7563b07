#pragma once

#include <optional>
#include <string>

#include "shared/base/secret.hpp"
#include "shared/redis/tls_settings.hpp"

namespace brood {

// A value that may be a secret: written in the configuration, in a file, or in a variable.
struct SecretSetting {
  Secret value;
  std::string file;      // its path, or "credential:NAME": see password_files.hpp
  std::string variable;  // of the environment
  std::string place;     // where it was set, for errors

  bool is_set() const { return !value.empty() || !file.empty() || !variable.empty(); }
};

// Which failures are reported, and to which error services ([on_error]).  The program is Config::on_error.
struct ErrorSettings {
  enum class When {
    failure,  // each attempt that is charged
    death,    // each failure after which the job is dead or discarded
  } when = When::failure;
  SecretSetting sentry_dsn, honeybadger_api_key;
  std::string honeybadger_endpoint = "https://api.honeybadger.io";
  SecretSetting webhook;           // the address
  SecretSetting webhook_secret;    // signs each report; not set: none is signed
  std::optional<TlsSettings> tls;  // to the services; none: the system's authorities are trusted
  std::string release;             // of the jobs' code, for the services; empty: none
  bool arguments = false;          // the services get the arguments of jobs
  bool backtrace = false;          // the stack of each exception is noted, for every job
  int storm_after = 10;            // how many reports of one error of one class are sent a minute; 0: all
  int queue = 1'000;               // how many reports may wait for a service
  int at_once = 2;                 // how many may be under way to a service

  bool has_service() const { return sentry_dsn.is_set() || honeybadger_api_key.is_set() || webhook.is_set(); }
};

}  // namespace brood
