#pragma once

#include <string>
#include <string_view>

#include <brood/detail/job_class.hpp>
#include <brood/detail/write_arguments.hpp>
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

inline std::string json_text(const Tags& tags) {
  std::string json;
  for (const std::string_view tag : tags) json.append(json.empty() ? "[" : ",").append(json_text(tag));
  return json + "]";
}

// A job with its class's options, as Sidekiq's client copies them into the payload.
template <typename Job>
Push pushed_job(const Job& job) {
  static_assert(check_job<Job>());
  constexpr JobOptions options = options_of<Job>();
  Push push{.job_class = std::string(wire_name<Job>()),
            .args = write_arguments(job),
            .queue = std::string(options.queue),
            .retry = options.retry};
  if (!options.retry_queue.empty()) push.members.emplace_back("retry_queue", json_text(options.retry_queue));
  if (!options.dead) push.members.emplace_back("dead", "false");
  if (options.backtrace != YesNoOrCount(false)) push.members.emplace_back("backtrace", json_text(options.backtrace));
  if (!options.tags.empty()) push.members.emplace_back("tags", json_text(options.tags));
  if (options.retry_for.count() > 0) push.members.emplace_back("retry_for", std::to_string(options.retry_for.count()));
  return push;
}

}  // namespace brood::detail
#pragma GCC visibility pop
