#include "shared/api/push/member_names.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <brood/detail/pushed_job.hpp>

#include "shared/base/nearest.hpp"

namespace brood {
namespace {

const std::vector<std::string> known_names = {
    // members of a push
    "class", "args", "queue", "jid", "at", "retry", "created_at", "enqueued_at", "retry_queue", "retry_for", "dead",
    "backtrace", "tags", "wrapped", "display_class", "log_level", "profile", "profiler_options", "locale", "bid",
    "expires_in", "expiry", "keep_result", "timeout", "encrypt", "unique_for", "unique_until", "unique_by",
    "unique_lock", "on_conflict", "sequence", "if_failed", "traceparent", "tracestate", "baggage", "spread_interval",
    // members of a job that has failed before
    "retry_count", "failed_at", "retried_at", "error_class", "error_message", "error_backtrace", "crash", "crash_count",
    "overrated", "discarded_at", "expired_at"};

// Names of times in other job servers and in the options of `brood enqueue`.
const std::vector<std::string> names_of_a_delay = {"in", "delay", "wait", "wait_until", "run_at", "eta", "countdown"};

bool is_current_attributes(const std::string& name) { return name == "cattr" || name.starts_with("cattr_"); }

std::string meant_by(const std::string& name) {
  if (std::ranges::find(names_of_a_delay, name) != names_of_a_delay.end())
    return "; \"at\" is the time of a job, in seconds since 1970";
  static const std::map<std::string, std::string> others = {
      {"arguments", "args"}, {"params", "args"},      {"job", "class"},          {"job_class", "class"},
      {"type", "class"},     {"id", "jid"},           {"job_id", "jid"},         {"max_retries", "retry"},
      {"retries", "retry"},  {"attempts", "retry"},   {"expires", "expires_in"}, {"ttl", "expires_in"},
      {"tag", "tags"},       {"queue_name", "queue"}, {"unique", "unique_until"}};
  if (const auto other = others.find(name); other != others.end()) return "; did you mean \"" + other->second + "\"?";
  const auto meant = nearest(name, known_names);
  return meant ? "; did you mean \"" + *meant + "\"?" : "";
}

}  // namespace

void check_member_names(const Push& job) {
  for (const auto& [name, json] : job.members) {
    if (is_current_attributes(name) || std::ranges::find(known_names, name) != known_names.end()) continue;
    throw std::invalid_argument(detail::json_text(std::string_view(name)) + " is no member of a job" + meant_by(name));
  }
}

}  // namespace brood
