#include "shared/job/retry_decision.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "shared/base/planted_bug.hpp"
#include "shared/job/expiry.hpp"
#include "shared/job/page_text.hpp"

namespace brood {
namespace {

constexpr std::size_t max_message_characters = 10'000;

// Longer delays are cut to a hundred years, so that they do not overflow the clock.
constexpr std::int64_t longest_delay_s = 100LL * 365 * 86'400;

std::int64_t saturated_increment(std::int64_t n) { return n == std::numeric_limits<std::int64_t>::max() ? n : n + 1; }

// A number as an integer, its fraction dropped and cut to 64 bits; nullopt for anything else.
std::optional<std::int64_t> whole_number(const Payload& job, std::string_view key) {
  if (const auto whole = job.integer(key)) return whole;
  const auto value = job.number(key);
  if (!value) return std::nullopt;
  if (*value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  if (*value < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(*value);
}

std::string retry_text(const RetryOption& option) {
  switch (option.kind) {
    case RetryOption::Kind::no:
      return "false";
    case RetryOption::Kind::count:
      return std::to_string(option.count);
    case RetryOption::Kind::yes:
      break;
  }
  return "true";
}

// Active Job writes `true` into each payload, unless the Ruby class has a number or false in its sidekiq_options.
bool has_default_retry_of_active_job(const Payload& job) { return job.is_active_job() && job.raw("retry") == "true"; }

// The members that a failure changes, collected in the order in which Sidekiq writes them.
class Edits {
 public:
  void set(std::string key, std::string raw) { edits_.push_back({std::move(key), std::move(raw)}); }
  void set(std::optional<Payload::Edit> edit) {
    if (edit) edits_.push_back(*std::move(edit));
  }
  void remove(std::string key) { edits_.push_back({std::move(key), std::nullopt}); }
  Payload applied_to(const Payload& job) const { return job.with(edits_); }

 private:
  std::vector<Payload::Edit> edits_;
};

// Sidekiq's `retry`: an integer is a number of retries, any other truthy value means the server's maximum.  An
// integer of more than 64 bits is cut to them.
std::int64_t retries_allowed(const Payload& job, const RetryPolicy& policy) {
  const auto raw = job.raw("retry");
  if (!raw || !is_json_integer(*raw)) return policy.max_retries;
  return whole_number(job, "retry").value_or(policy.max_retries);
}

// If `retry_for` or failed_at is no usable number, Ruby would raise.  Here the limit of retries applies instead, so
// that such a job ends too.
bool out_of_retries(const Payload& job, std::int64_t count, WallTime now, const RetryPolicy& policy) {
  const bool out_of_count = count >= retries_allowed(job, policy);
  if (policy.retry_for == RetryFor::ignored || !job.truthy("retry_for")) return out_of_count;
  const auto limit_s = job.number("retry_for");
  const auto failed_at = job.time("failed_at");
  if (!limit_s || !failed_at) return out_of_count;
  const bool out_of_time = std::chrono::duration<double>(now - *failed_at).count() > *limit_s;
  return out_of_time || (policy.retry_for == RetryFor::both && out_of_count);
}

// Sidekiq's curve: 15 s after the first failure, 11 min after the sixth, 20 days in all.
std::chrono::seconds retry_delay(std::int64_t count, const HookAnswer& hook, double jitter) {
  const double failures = static_cast<double>(std::max<std::int64_t>(count, 0));
  const bool hook_decides = hook.kind == HookAnswer::Kind::delay && hook.delay.count() > 0;
  const double base = hook_decides ? static_cast<double>(hook.delay.count()) : std::pow(failures, 4) + 15;
  const double spread = std::floor(jitter * 10 * (failures + 1));
  return std::chrono::seconds(static_cast<std::int64_t>(std::min(base + spread, static_cast<double>(longest_delay_s))));
}

// The lines of the backtrace that the payload records.
std::vector<std::string> lines_to_store(const Payload& job, const Failure& failure) {
  if (failure.always_backtrace) return failure.backtrace;
  if (!job.truthy("backtrace")) return {};
  if (job.raw("backtrace") == "true") return failure.backtrace;
  const auto wanted = std::max<std::int64_t>(whole_number(job, "backtrace").value_or(0), 0);
  const auto lines = std::min(static_cast<std::uint64_t>(wanted), std::uint64_t{failure.backtrace.size()});
  return {failure.backtrace.begin(), failure.backtrace.begin() + static_cast<std::ptrdiff_t>(lines)};
}

void note_error(Edits& edits, const Payload& job, const Failure& failure, bool again, WallTime now) {
  edits.set("error_message", json_string(utf8_prefix(failure.message, max_message_characters)));
  if (!planted(PlantedBug::dead_job_gives_no_reason))
    edits.set("error_class", json_string(page_text(failure.error_class)));
  edits.set(again ? "retried_at" : "failed_at", json_time(now, job.time_unit()));
}

// Whether `crash` is brood's: a client may have a member of that name.
bool holds_crash_report(const Payload& job) {
  const auto crash = job.raw("crash");
  return crash && crash->starts_with("{\"at\":");
}

// Writes the stack of this failure.  If it has none, removes an earlier stack, which belongs to another error.
void note_stack(Edits& edits, const Payload& job, const Failure& failure) {
  std::vector<std::string> lines = lines_to_store(job, failure);
  for (std::string& line : lines) line = page_text(line);
  if (!lines.empty())
    edits.set("error_backtrace", json_string(encode_backtrace(lines)));
  else
    edits.remove("error_backtrace");
  if (!failure.crash_json.empty())
    edits.set("crash", failure.crash_json);
  else if (holds_crash_report(job))
    edits.remove("crash");
}

void note_failure(Edits& edits, const Payload& job, const Failure& failure, WallTime now) {
  note_error(edits, job, failure, whole_number(job, "retry_count").has_value(), now);
  edits.set("retry_count", std::to_string(failure_count(job)));
  note_stack(edits, job, failure);
  if (failure.crash)
    edits.set("crash_count", std::to_string(saturated_increment(whole_number(job, "crash_count").value_or(0))));
}

void note_uncharged(Edits& edits, const Payload& job, const Failure& failure, WallTime now) {
  note_error(edits, job, failure, job.raw("failed_at") || whole_number(job, "retry_count"), now);
  note_stack(edits, job, failure);
}

std::string queue_to_retry_in(const Payload& job, std::string_view fetched_from) {
  const auto retry_queue = job.string("retry_queue");
  return json_string(retry_queue && !retry_queue->empty() ? *retry_queue : fetched_from);
}

}  // namespace

std::int64_t failure_count(const Payload& job) {
  const auto before = whole_number(job, "retry_count");
  return before ? saturated_increment(*before) : 0;
}

Verdict judge_failure(const Payload& job, const Failure& failure, const HookAnswer& hook,
                      std::optional<RetryOption> class_retry, std::string_view fetched_from, WallTime now,
                      double jitter, const RetryPolicy& policy) {
  Edits edits;
  if (!job.truthy("retry") && failure.misrouted) {
    // The client meant another server, so the record must show the failure.
    edits.set("queue", queue_to_retry_in(job, fetched_from));
    note_failure(edits, job, failure, now);
    return {Verdict::Kind::exhausted, edits.applied_to(job), {}};
  }
  if (!job.truthy("retry")) {
    const bool missing = !job.raw("retry") || job.raw("retry") == "null";
    const RetryOption option = class_retry.value_or(RetryOption{});
    if (!missing || !failure.from_job || option.kind == RetryOption::Kind::no)
      return {Verdict::Kind::discarded, job, {}};
    edits.set("retry", retry_text(option));
  } else if (has_default_retry_of_active_job(job) && failure.from_job && class_retry) {
    if (class_retry->kind == RetryOption::Kind::no) return {Verdict::Kind::discarded, job, {}};
    edits.set("retry", retry_text(*class_retry));
  }
  edits.set("queue", queue_to_retry_in(job, fetched_from));
  note_failure(edits, job, failure, now);
  edits.set(kept_expiry(job));
  const Payload record = edits.applied_to(job);

  const std::int64_t count = failure_count(job);
  const bool crashed_enough = failure.crash && whole_number(record, "crash_count") >= policy.max_crashes;
  if (crashed_enough || out_of_retries(record, count, now, policy)) return {Verdict::Kind::exhausted, record, {}};

  switch (hook.kind) {
    case HookAnswer::Kind::kill:
      return {Verdict::Kind::exhausted, record, {}};
    case HookAnswer::Kind::discard:
      return {Verdict::Kind::discarded, discarded(record, now), {}};
    case HookAnswer::Kind::delay:
    case HookAnswer::Kind::none:
      break;
  }
  return {Verdict::Kind::retry, record, now + retry_delay(count, hook, jitter)};
}

Verdict retry_uncharged(const Payload& job, const Failure& failure, std::string_view fetched_from, WallTime now,
                        double jitter) {
  Edits edits;
  edits.set("queue", queue_to_retry_in(job, fetched_from));
  note_uncharged(edits, job, failure, now);
  edits.set(kept_expiry(job));
  const std::int64_t count = whole_number(job, "retry_count").value_or(0);
  return {Verdict::Kind::retry, edits.applied_to(job), now + retry_delay(count, HookAnswer{}, jitter)};
}

Payload with_failure(const Payload& job, const Failure& failure, WallTime now) {
  Edits edits;
  note_uncharged(edits, job, failure, now);
  return edits.applied_to(job);
}

bool goes_to_dead(const Payload& job, bool hook_discarded) { return !hook_discarded && job.raw("dead") != "false"; }

Payload discarded(const Payload& job, WallTime now) {
  return job.with({{"discarded_at", json_time(now, job.time_unit())}});
}

}  // namespace brood
