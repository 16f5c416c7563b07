#include "shared/job/uniqueness.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "shared/base/contains_text.hpp"
#include "shared/base/digest.hpp"
#include "shared/job/number_member.hpp"
#include "shared/job/ruby_spelling.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"

namespace brood {
namespace {

constexpr double longest_unique_for = 1e9;  // seconds

// nullopt for false, null and 0: the option is not used.
std::optional<std::chrono::milliseconds> read_unique_for(std::string_view json) {
  if (json == "false" || json == "null") return std::nullopt;
  const auto seconds = number_of(json);
  if (!seconds || *seconds < 0 || *seconds > longest_unique_for)
    throw std::invalid_argument("unique_for is no number of seconds: " + std::string(json));
  if (*seconds == 0) return std::nullopt;
  return std::chrono::milliseconds(std::max<std::int64_t>(1, std::llround(*seconds * 1000)));
}

Uniqueness::Until read_unique_until(std::string_view json) {
  if (json == R"("done")" || json == R"("success")") return Uniqueness::Until::done;  // "success" is Sidekiq's word
  if (json == R"("start")") return Uniqueness::Until::start;
  if (json == R"("running")") return Uniqueness::Until::running;
  throw std::invalid_argument("unique_until is start, done or running, not " + std::string(json));
}

// nullopt if the member is absent or null.
std::optional<OnConflict> read_on_conflict(std::optional<std::string_view> json) {
  if (!json || *json == "null") return std::nullopt;
  if (*json == R"("drop")") return OnConflict::drop;
  if (*json == R"("after")") return OnConflict::after;
  if (*json == R"("replace")") return OnConflict::replace;
  if (*json == R"("extend")") return OnConflict::extend;
  throw std::invalid_argument("on_conflict is drop, after, replace or extend, not " + std::string(*json));
}

// The class and the arguments that a job is unique by.
struct JobName {
  std::string job_class, args;
};

// Active Job wraps all its jobs in one class, and each job into one argument.  Only the wrapped class and arguments
// count: the id, times and executions differ from push to push.  nullopt if it is no such job.
std::optional<JobName> active_job_name(std::string_view args, const RawMember& member) {
  const auto wrapped = member("wrapped");
  if (!wrapped || *wrapped == "null" || *wrapped == "false") return std::nullopt;
  try {
    const std::vector<std::string> elements = json_elements(args);
    if (elements.size() != 1 || !elements[0].starts_with('{')) return std::nullopt;
    const JsonObject job = JsonObject::parse(elements[0]);
    auto job_class = job.string("job_class");
    const auto arguments = job.raw("arguments");
    if (!job_class || !arguments || !arguments->starts_with('[')) return std::nullopt;
    return JobName{*std::move(job_class), std::string(*arguments)};
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

void check_on_conflict(const Uniqueness& unique) {
  const bool is_of_waiting = unique.on_conflict == OnConflict::replace || unique.on_conflict == OnConflict::extend;
  if (is_of_waiting && unique.until == Uniqueness::Until::running)
    throw std::invalid_argument("on_conflict of a job that is unique while it runs is drop or after");
  if (unique.on_conflict == OnConflict::extend && unique.longest.count() == 0)
    throw std::invalid_argument("on_conflict extend goes with unique_for: other locks live as long as their jobs");
}

}  // namespace

std::optional<Uniqueness> read_uniqueness(std::string_view job_class, std::string_view queue, std::string_view args,
                                          const RawMember& member) {
  const auto longest = member("unique_for"), until = member("unique_until");
  const bool says_until = until && *until != "null" && *until != "false";
  Uniqueness unique;
  if (longest) {
    const auto ms = read_unique_for(*longest);
    if (!ms) return std::nullopt;  // this one job is pushed without it
    unique.longest = *ms;
  } else if (!says_until) {
    return std::nullopt;
  }
  if (says_until) unique.until = read_unique_until(*until);
  const OnConflict usual = unique.until == Uniqueness::Until::running ? OnConflict::after : OnConflict::drop;
  unique.on_conflict = read_on_conflict(member("on_conflict")).value_or(usual);
  check_on_conflict(unique);
  const auto by = member("unique_by");
  const auto active = active_job_name(args, member);
  // Line feeds separate the parts without doubt: a class and a queue contain none.
  std::string text(active ? std::string_view(active->job_class) : job_class);
  text.append("\n").append(queue).append("\n");
  text.append(ruby_spelling(by ? *by : active ? std::string_view(active->args) : args, 1));
  unique.lock = sha256_base64url(text);
  return unique;
}

std::optional<Uniqueness> uniqueness_of(const Payload& job) try {
  return read_uniqueness(job.job_class(), job.string("queue").value_or("default"), job.args(),
                         [&](std::string_view name) { return job.raw(name); });
} catch (const std::exception&) {
  return std::nullopt;
}

bool may_be_unique(std::string_view payload) { return contains_text(payload, "\"unique_"); }

}  // namespace brood
