#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <brood/detail/job_class.hpp>
#include <brood/detail/write_arguments.hpp>
#include <brood/enqueue_options.hpp>
#include <brood/push.hpp>

#pragma GCC visibility push(hidden)
namespace brood::detail {

inline std::string json_text(const YesNoOrCount& value) {
  if (value.kind() == YesNoOrCount::Kind::count) return std::to_string(value.count());
  return value.kind() == YesNoOrCount::Kind::yes ? "true" : "false";
}

inline std::string json_text(std::string_view text) {
  std::string json;
  write_string(json, text);
  return json;
}

template <typename Texts>
std::string json_array(const Texts& texts) {
  std::string json;
  for (const std::string_view text : texts) json.append(json.empty() ? "[" : ",").append(json_text(text));
  return json + "]";
}

// Writes a duration as seconds, the unit of payloads.
inline std::string json_seconds(std::chrono::milliseconds duration) {
  if (duration.count() < 0) throw std::invalid_argument("a timeout, or the time to begin, is not negative");
  if (duration.count() % 1000 == 0) return std::to_string(duration.count() / 1000);
  std::string json;
  write_floating(json, static_cast<double>(duration.count()) / 1000);
  return json;
}

// Writes a time as epoch seconds, with a fraction to the millisecond.
inline std::string json_moment(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  if (since.count() <= 0 || since >= std::chrono::seconds(9'000'000'000))
    throw std::invalid_argument("a job expires after 1970 and before the year 2255");
  std::string json;
  write_floating(json, static_cast<double>(since.count()) / 1000);
  return json;
}

inline void set_member(Push& push, std::string_view name, std::string json) {
  for (auto& [given, value] : push.members) {
    if (given != name) continue;
    value = std::move(json);
    return;
  }
  push.members.emplace_back(name, std::move(json));
}

// Adds the option of the call, else that of the class, to the payload, as Sidekiq's client does.
inline void add_options(Push& push, const JobOptions& of_class, const EnqueueOptions& call) {
  const YesNoOrCount backtrace = call.backtrace.value_or(of_class.backtrace);
  const std::chrono::seconds retry_for = call.retry_for.value_or(of_class.retry_for);
  const std::string_view retry_queue = call.retry_queue ? std::string_view(*call.retry_queue) : of_class.retry_queue;
  const auto add = [&](const char* name, std::string json) { push.members.emplace_back(name, std::move(json)); };
  if (!retry_queue.empty()) add("retry_queue", json_text(retry_queue));
  if (!call.dead.value_or(of_class.dead)) add("dead", "false");
  if (backtrace != YesNoOrCount(false)) add("backtrace", json_text(backtrace));
  if (!call.tags.empty()) {
    add("tags", json_array(call.tags));
  } else if (!of_class.tags.empty()) {
    add("tags", json_array(of_class.tags));
  }
  if (retry_for.count() > 0) add("retry_for", std::to_string(retry_for.count()));
  // The timeout of the class is not written: workers have it.
  if (call.timeout) add("timeout", json_seconds(*call.timeout));
  const std::chrono::milliseconds expires_in = call.expires_in.value_or(of_class.expires_in);
  if (expires_in.count() != 0) add("expires_in", json_seconds(expires_in));
  if (call.encrypt.value_or(of_class.encrypt)) add("encrypt", "true");
  const std::chrono::seconds keep_result = call.keep_result.value_or(of_class.keep_result);
  if (keep_result.count() < 0) throw std::invalid_argument("keep_result is not negative");
  if (keep_result.count() > 0) add("keep_result", std::to_string(keep_result.count()));
  if (!call.sequence.empty()) add("sequence", json_text(call.sequence));
  if (!call.if_failed.empty()) add("if_failed", json_text(call.if_failed));
  if (call.expires_at) add("expiry", json_moment(*call.expires_at));
  if (!call.display_class.empty()) add("display_class", json_text(call.display_class));
  for (const auto& [name, json] : call.members) set_member(push, name, json);
}

inline const char* json_word(UniqueUntil until) {
  return until == UniqueUntil::start ? "\"start\"" : until == UniqueUntil::done ? "\"done\"" : "\"running\"";
}

inline const char* json_word(OnConflict on_conflict) {
  switch (on_conflict) {
    case OnConflict::after:
      return "\"after\"";
    case OnConflict::replace:
      return "\"replace\"";
    case OnConflict::extend:
      return "\"extend\"";
    default:
      return "\"drop\"";
  }
}

inline OnConflict usual_on_conflict(UniqueUntil until) {
  return until == UniqueUntil::running ? OnConflict::after : OnConflict::drop;
}

// Adds the members of a unique job to the payload; the client takes the lock.
template <typename Job>
void add_uniqueness(Push& push, const Job& job, const JobOptions& of_class, const EnqueueOptions& call) {
  const std::chrono::seconds longest = call.unique_for.value_or(of_class.unique_for);
  if (longest.count() < 0) throw std::invalid_argument("unique_for is not negative");
  if (!call.unique.value_or(of_class.unique || longest.count() > 0)) return;
  const auto add = [&](const char* name, std::string json) { push.members.emplace_back(name, std::move(json)); };
  if (longest.count() > 0) add("unique_for", std::to_string(longest.count()));
  add("unique_until", json_word(of_class.unique_until));
  const std::optional<OnConflict> on_conflict = call.on_conflict ? call.on_conflict : of_class.on_conflict;
  if (on_conflict && *on_conflict != usual_on_conflict(of_class.unique_until))
    add("on_conflict", json_word(*on_conflict));
  if constexpr (requires { Job::unique_by; }) {
    std::string by;
    std::apply(
        [&](auto... fields) {
          static_assert((std::is_member_object_pointer_v<decltype(fields)> && ...),
                        "unique_by is a std::tuple of fields: std::tuple{&Report::customer, &Report::day}");
          ((by += by.empty() ? "[" : ",", write_value(by, job.*fields)), ...);
        },
        Job::unique_by);
    add("unique_by", by + "]");
  }
}

// Makes the push of a job.
template <typename Job>
Push pushed_job(const Job& job, const EnqueueOptions& call = {}) {
  static_assert(check_job<Job>());
  static constexpr JobOptions of_class = options_of<Job>();
  Push push{.job_class = std::string(wire_name<Job>()),
            .args = write_arguments(job),
            .queue = call.queue ? *call.queue : std::string(of_class.queue),
            .retry = call.retry.value_or(of_class.retry),
            .jid = call.jid,
            .shard_by = call.shard_by};
  add_uniqueness(push, job, of_class, call);
  add_options(push, of_class, call);
  return push;
}

// The push of a job whose time is set elsewhere, so that it cannot be spread: `why` says so.
template <typename Job>
Push unspread_job(const Job& job, const EnqueueOptions& call, const char* why) {
  if (call.spread) throw std::invalid_argument(why);
  return pushed_job(job, call);
}

}  // namespace brood::detail
#pragma GCC visibility pop
