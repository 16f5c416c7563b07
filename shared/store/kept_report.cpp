#include "shared/store/kept_report.hpp"

#include <fmt/format.h>

#include "shared/base/clock.hpp"
#include "shared/base/contains_text.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/batch_membership.hpp"
#include "shared/job/job_report.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

void take_error(JobReport& report, const JsonObject& job) {
  report.error_class = job.string("error_class").value_or("");
  report.error_message = job.string("error_message").value_or("");
}

JobReport report_of_end(const JsonObject& job, const Outcome* outcome) {
  JobReport report;
  if (outcome == nullptr) {
    report.state = JobState::dead;
    take_error(report, job);
    if (report.error_class.empty()) report.error_class = "JobDeleted";
    if (report.error_message.empty()) report.error_message = "it was deleted before it had succeeded";
    return report;
  }
  report.state = outcome->kind == Outcome::Kind::acknowledge ? JobState::done : JobState::dead;
  if (outcome->last_run) {
    const EndOfRun& run = *outcome->last_run;
    if (!run.result.empty()) report.result.text = run.result;
    report.error_class = run.error_class;
    report.error_message = run.message;
    report.elapsed = std::chrono::round<std::chrono::microseconds>(std::chrono::duration<double>(run.elapsed));
  }
  if (outcome->kind != Outcome::Kind::move_to_dead || outcome->payload.empty()) return report;
  try {
    take_error(report, JsonObject::parse(outcome->payload));
  } catch (const BadJson&) {  // keep the report of the run as it is
  }
  return report;
}

}  // namespace

void append_report(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, const Outcome* outcome) {
  if (!contains_text(payload, mark_of_report)) return;
  try {
    const JsonObject job = JsonObject::parse(payload);
    const auto seconds = keeps_report_for(job.raw("keep_result"));
    std::string jid = job.string("jid").value_or("");
    if (!seconds || jid.empty()) return;
    JobReport report = report_of_end(job, outcome);
    report.ended_at = std::chrono::time_point_cast<std::chrono::system_clock::duration>(redis_now());
    report.jid = jid;
    all.push_back({entry, "report", keys::report(jid), report_json(report), std::to_string(*seconds)});
  } catch (const BadJson&) {  // such a job keeps no report
  }
}

void append_step_result(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, const Outcome& outcome) {
  if (!outcome.last_run || outcome.last_run->result.empty()) return;
  const auto membership = batch_named_by(payload);
  if (!membership || membership->bid.empty()) return;
  try {
    const std::string step = step_named_by(JsonObject::parse(payload));
    if (!step.empty())
      all.push_back({entry, "step_result", keys::batch_results(membership->bid), outcome.last_run->result, step});
  } catch (const BadJson&) {  // such a job is no step
  }
}

Command ask_report(std::string_view jid) { return {"LINDEX", keys::report(jid), "0"}; }

Command wait_for_report(std::string_view jid, std::chrono::milliseconds longest) {
  const RedisKey key = keys::report(jid);
  return {"BLMOVE", key, key, "LEFT", "LEFT", fmt::format("{:.3f}", std::chrono::duration<double>(longest).count())};
}

std::optional<JobReport> read_kept_report(ReplyView reply) {
  return reply.is_string() ? read_report(reply.text()) : std::nullopt;
}

}  // namespace brood
