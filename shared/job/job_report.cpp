#include "shared/job/job_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "shared/base/clock.hpp"
#include "shared/job/number_member.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"

namespace brood {
namespace {

constexpr double longest_kept_s = 1e9;
constexpr double longest_run_s = 1e9, latest_end_s = 9e9;  // both fit the clock

std::optional<JobState> state_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(JobState::unknown); ++i) {
    if (to_string(static_cast<JobState>(i)) == name) return static_cast<JobState>(i);
  }
  return std::nullopt;
}

std::optional<double> number_within(const JsonObject& json, std::string_view key, double most) {
  const auto number = json.number(key);
  return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> keeps_report_for(std::optional<std::string_view> keep_result) {
  const auto seconds = keep_result ? number_of(*keep_result) : std::nullopt;
  if (!seconds || !(*seconds > 0)) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(std::min(*seconds, longest_kept_s)));
}

bool keeps_report(const Payload& job) {
  return keeps_report_for(job.raw("keep_result")).has_value() || (job.raw("step") && job.raw("batch_index"));
}

std::string report_json(const JobReport& report) {
  const std::chrono::duration<double> elapsed = report.elapsed;
  std::optional<double> ended_at;
  if (report.ended_at) ended_at = std::chrono::duration<double>(report.ended_at->time_since_epoch()).count();
  return JsonWriter()
      .text("jid", report.jid)
      .text("state", to_string(report.state))
      .json("result", report.result.text.empty() ? "null" : report.result.text)
      .text_or_null("error_class", report.error_class)
      .text_or_null("error_message", report.error_message)
      .decimal("elapsed", elapsed.count() > 0 ? std::optional(elapsed.count()) : std::nullopt, 6)
      .decimal("ended_at", ended_at)
      .object();
}

std::optional<JobReport> read_report(std::string_view text) {
  try {
    const JsonObject json = JsonObject::parse(text);
    const auto state = state_named(json.string("state").value_or(""));
    if (!state) return std::nullopt;
    JobReport report;
    report.jid = json.string("jid").value_or("");
    report.state = *state;
    report.result.text = std::string(json.raw("result").value_or("null"));
    report.error_class = json.string("error_class").value_or("");
    report.error_message = json.string("error_message").value_or("");
    if (const auto elapsed = number_within(json, "elapsed", longest_run_s))
      report.elapsed = std::chrono::round<std::chrono::microseconds>(std::chrono::duration<double>(*elapsed));
    if (const auto ended = number_within(json, "ended_at", latest_end_s))
      report.ended_at = std::chrono::system_clock::time_point(
          std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>(*ended)));
    return report;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

}  // namespace brood
