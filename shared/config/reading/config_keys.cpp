#include "shared/config/reading/config_keys.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "shared/base/nearest.hpp"

namespace brood {
namespace {

const std::vector<std::string> keys_of_workers = {"max_jobs",      "max_rss",     "memory_limit", "job_timeout",
                                                  "timeout_grace", "max_crashes", "max_batch",    "seccomp",
                                                  "threads",       "preload"};

std::vector<std::string> with_keys_of_workers(std::vector<std::string> keys) {
  keys.insert(keys.end(), keys_of_workers.begin(), keys_of_workers.end());
  return keys;
}

// Every section and its keys.  "*" stands for a section with any name.  A section that has both keys and such sections
// has the key "*".
const std::map<std::string, std::vector<std::string>> known_keys = {
    {"", {"concurrency",   "queues",
          "require",       "shutdown_timeout",
          "environment",   "tag",
          "poll_interval", "max_retries",
          "boot_timeout",  "max_unavailable",
          "metrics",       "max_iteration_runtime",
          "labels",        "dead_max_jobs",
          "dead_timeout",  "redis",
          "log",           "scheduler",
          "worker",        "capsules",
          "classes",       "commands",
          "on_error",      "compatibility",
          "restart",       "pressure",
          "crashes",       "expired",
          "encryption",    "periodic",
          "limits",        "web",
          "statsd",        "otlp",
          "tenants"}},
    {"redis",
     {"url", "user", "password_file", "appendfsync", "share_with_jobs", "give_up_after", "shard", "shards", "drain",
      "sentinel", "wait", "wait_timeout", "tls"}},
    {"redis.shard", {"name", "url", "user", "password_file", "drain"}},
    {"redis.sentinel", {"user", "password_file"}},
    {"redis.tls", {"ca", "cert", "key", "server_name", "min_version", "verify"}},
    {"scheduler", {"queues"}},
    {"restart", {"canary", "canary_watch"}},
    {"pressure", {"memory", "proc", "cgroup"}},
    {"crashes", {"quarantine_after", "within"}},
    {"web",
     {"listen", "mode", "read_only", "hosts", "users", "user_header", "proxy_user", "metrics", "show_args", "base_path",
      "api_rate"}},
    {"statsd", {"address", "format", "prefix", "tags"}},
    {"otlp", {"endpoint", "headers_file", "service_name", "resource", "propagation", "sample", "tls"}},
    {"otlp.tls", {"ca", "cert", "key", "server_name", "min_version", "verify"}},
    {"encryption", {"keys", "active", "require", "core_files"}},
    {"periodic", {"sidekiq_cron", "*"}},
    {"periodic.*",
     {"cron", "class", "args", "queue", "tz", "retry", "catch_up", "within", "overlap", "jitter", "enabled_on",
      "paused"}},
    {"tenants.*", {"*"}},
    {"limits.*", {"queues", "classes", "concurrent", "per"}},
    {"log", {"level", "format", "file", "log_jobs"}},
    {"worker", keys_of_workers},
    {"capsules.*", with_keys_of_workers({"concurrency", "queues"})},
    {"on_error",
     {"run",
      "timeout",
      "env",
      "directory",
      "sentry_dsn",
      "sentry_dsn_file",
      "honeybadger_api_key",
      "honeybadger_api_key_file",
      "honeybadger_endpoint",
      "webhook",
      "webhook_file",
      "webhook_secret",
      "webhook_secret_file",
      "tls",
      "when",
      "release",
      "arguments",
      "backtrace",
      "storm_after",
      "queue",
      "at_once"}},
    {"on_error.tls", {"ca", "cert", "key", "server_name", "min_version", "verify"}},
    {"compatibility", {"sidekiq", "timestamps", "sidekiq_unique_jobs"}},
    {"classes.*", {"isolation", "threads", "sandbox", "expired", "show_args"}},
    {"classes.*.sandbox", {"network", "write", "read", "memory", "cpu", "processes", "strict"}},
    {"commands.*", {"run", "timeout", "env", "directory"}},
};

// Sidekiq's names of our keys.
const std::map<std::string, std::string> names_of_sidekiq = {
    {"timeout", "shutdown_timeout"},
    {"average_scheduled_poll_interval", "poll_interval"},
    {"dead_timeout_in_seconds", "dead_timeout"},
    {"skip_default_job_logging", "log.log_jobs"},
    {"logfile", "log.file"},
    {"verbose", "log.level"},
};

}  // namespace

const std::vector<std::string>& keys_of_section(const std::string& kind) { return known_keys.at(kind); }

std::string meant_key(const std::string& key, const std::vector<std::string>& known) {
  if (const auto like = nearest(key, known)) return *like;
  if (const auto sidekiq = names_of_sidekiq.find(key); sidekiq != names_of_sidekiq.end()) return sidekiq->second;
  // Backwards, so that the general section comes before the capsules.  A shard has only one key that [redis] lacks.
  for (auto known_one = known_keys.rbegin(); known_one != known_keys.rend(); ++known_one) {
    const auto& [section, keys] = *known_one;
    if (!section.empty() && section != "redis.shard" && std::find(keys.begin(), keys.end(), key) != keys.end())
      return section + "." + key;
  }
  return "";
}

}  // namespace brood
