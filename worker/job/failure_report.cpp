#include "worker/job/failure_report.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <utility>

#include "shared/base/digest.hpp"
#include "shared/errors/error_services.hpp"
#include "shared/errors/error_spool.hpp"
#include "shared/job/page_text.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

constexpr std::size_t room_for_other_members = 256'000;

std::optional<ErrorReport::Becomes> end_of(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::retry:
      return ErrorReport::Becomes::retry;
    case Outcome::Kind::move_to_dead:
      return ErrorReport::Becomes::dead;
    case Outcome::Kind::discard:
      return ErrorReport::Becomes::discarded;
    default:
      return std::nullopt;
  }
}

std::vector<std::string> tags_of(const Payload& job) {
  std::vector<std::string> tags;
  const auto raw = job.raw("tags");
  if (!raw || !raw->starts_with('[')) return tags;
  for (const std::string& tag : json_elements(*raw)) {
    if (tag.starts_with('"') && tags.size() < most_report_tags)
      tags.push_back(utf8_prefix(json_unescape(tag), longest_report_tag));
  }
  return tags;
}

std::string arguments_of(const Payload& job) {
  std::string arguments = shown_args(job.text());
  if (arguments.size() <= longest_report_arguments) return arguments;
  return fmt::format("[\"{} bytes of arguments are left out\"]", arguments.size());
}

std::vector<std::string> backtrace_of(const Failure& failure) {
  std::vector<std::string> lines;
  for (const std::string& line : failure.backtrace) {
    if (lines.size() < most_report_lines) lines.push_back(utf8_prefix(line, longest_report_word));
  }
  return lines;
}

std::string fingerprint_of(const Failure& failure) {
  if (failure.crash_json.empty()) return "";
  try {
    return JsonObject::parse(failure.crash_json).string("fingerprint").value_or("");
  } catch (const BadJson&) {
    return "";
  }
}

// Whether the report can contain the job as a member, which makes it one level deeper: JSON has at most 100.
bool fits(const std::string& job) {
  return job.size() < longest_error_report - room_for_other_members && is_json("[" + job + "]");
}

}  // namespace

std::optional<ErrorReport> report_failure(const Config& config, const FailureSource& source, const Payload& job,
                                          std::string_view queue, const Failure& failure, const Outcome& outcome) {
  const auto becomes = end_of(outcome);
  if (!becomes || !reports_errors(config)) return std::nullopt;
  if (config.errors.when == ErrorSettings::When::death && *becomes == ErrorReport::Becomes::retry) return std::nullopt;
  ErrorReport report;
  // The id is the same for an attempt: if the worker is killed before its settle, the recovery reports it again.
  report.id = sha1_hex(source.identity + ' ' + source.worker + ' ' + job.text()).substr(0, 32);
  report.at = epoch_seconds(wall_now());
  report.job_class = job.display_class();
  report.jid = job.jid();
  report.queue = queue;
  report.error_class = failure.error_class;
  report.message = utf8_prefix(failure.message, longest_report_message);
  report.backtrace = backtrace_of(failure);
  report.retry_count = failure_count(job);
  report.becomes = *becomes;
  if (*becomes == ErrorReport::Becomes::retry) report.retry_at = outcome.score;
  report.crash = failure.crash_json;
  report.fingerprint = fingerprint_of(failure);
  report.tags = tags_of(job);
  // The class encrypts its arguments, and these have come in clear.
  const bool are_secret = failure.error_class == "NotEncrypted";
  if (config.errors.arguments && !are_secret) report.arguments = arguments_of(job);
  if (config.on_error && fits(job.text())) report.job = job.text();
  report.host = source.host;
  report.identity = source.identity;
  report.generation = source.generation;
  report.environment = config.environment;
  report.release = config.errors.release;
  return report;
}

}  // namespace brood
