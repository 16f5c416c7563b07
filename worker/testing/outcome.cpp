#include "worker/testing/outcome.hpp"

#include <charconv>
#include <vector>

#include "shared/json/json_object.hpp"
#include "worker/testing/run_log.hpp"

namespace brood::testing {
namespace {

constexpr std::string_view frame_event = "crash_stack", facts_event = "crash_facts";

// Returns the log lines of the last run, from its first line on.
std::vector<LogLine> last_run(const std::vector<LogLine>& lines) {
  std::vector<LogLine> run;
  for (const LogLine& line : lines) {
    if (line.fact("event") == "job_started") run.clear();
    run.push_back(line);
  }
  return run;
}

const LogLine* last_of(const std::vector<LogLine>& lines, std::initializer_list<std::string_view> events) {
  const LogLine* last = nullptr;
  for (const LogLine& line : lines) {
    for (const std::string_view event : events) {
      if (line.fact("event") == event) last = &line;
    }
  }
  return last;
}

// Returns the stack that the log has of a job that is not stored.
std::vector<std::string> logged_stack(const std::vector<LogLine>& run) {
  std::vector<std::string> stack;
  for (const LogLine& line : run) {
    if (line.fact("event") == frame_event) stack.push_back(line.fact("frame"));
  }
  return stack;
}

Crash crash_of(std::string json, const LogLine* logged) {
  Crash crash;
  const JsonObject facts = JsonObject::parse(json);
  crash.signal = facts.string("signal").value_or("");
  crash.code = facts.string("code").value_or("");
  crash.address = facts.string("address").value_or("");
  crash.fingerprint = facts.string("fingerprint").value_or("");
  if (logged != nullptr) crash.top_frame = logged->fact("top");
  crash.json = std::move(json);
  return crash;
}

Outcome with_failure(Outcome outcome, const std::vector<LogLine>& run) {
  const LogLine* const crashed = last_of(run, {"job_crashed"});
  std::string crash;
  if (outcome.entry) {
    outcome.error_class = outcome.entry->error_class;
    outcome.message = outcome.entry->error_message;
    outcome.backtrace = outcome.entry->backtrace();
    crash = outcome.entry->member("crash").value_or("");
  } else {
    if (const LogLine* expired = last_of(run, {"job_expired"})) {
      outcome.error_class = "JobExpired";
      outcome.message = "came " + expired->fact("late") + " s too late to begin";
    }
    if (const LogLine* failure = last_of(run, {"job_discarded"})) {
      outcome.error_class = failure->fact("error");
      outcome.message = failure->fact("message");
    }
    outcome.backtrace = logged_stack(run);
    if (const LogLine* facts = last_of(run, {facts_event})) crash = facts->fact("facts");
  }
  // Without `crashed` the member is that of an earlier attempt.
  if (crashed != nullptr && crash.starts_with('{')) outcome.crash = crash_of(std::move(crash), crashed);
  return outcome;
}

}  // namespace

std::optional<Outcome> judge_outcome(const JobPlaces::Found& found, std::string_view jid, std::string_view log) {
  using Place = JobPlaces::Place;
  if (found.place == Place::waits || found.place == Place::schedule || found.place == Place::quarantine)
    return std::nullopt;
  const std::vector<LogLine> lines = lines_of_job(log, jid);
  const std::vector<LogLine> run = last_run(lines);
  Outcome outcome;
  for (const LogLine& line : lines) outcome.runs += line.fact("event") == "job_started" ? 1 : 0;
  outcome.entry = found.entry;
  if (found.place != Place::nowhere) {
    outcome.kind = found.place == Place::dead ? Outcome::Kind::dead : Outcome::Kind::retried;
    return with_failure(std::move(outcome), run);
  }
  const LogLine* const end = last_of(run, {"job_done", "job_discarded", "job_ended_by_hand", "job_expired"});
  if (end == nullptr) return std::nullopt;
  if (end->fact("event") == "job_done") return outcome;
  outcome.kind = Outcome::Kind::discarded;
  return with_failure(std::move(outcome), run);
}

std::optional<int> running_in(std::string_view jid, std::string_view log) {
  const std::vector<LogLine> run = last_run(lines_of_job(log, jid));
  if (last_of(run, {"job_started"}) == nullptr) return std::nullopt;
  if (last_of(run, {"job_done", "job_failed", "job_interrupted", "job_crashed", "worker_crashed", "job_ended_by_hand",
                    "job_expired"}))
    return std::nullopt;
  const std::string text = run.front().fact("pid");
  int pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

std::string Outcome::text() const {
  static constexpr const char* names[] = {"succeeded", "retried", "dead", "discarded"};
  std::string text =
      std::string(names[static_cast<int>(kind)]) + " after " + std::to_string(runs) + (runs == 1 ? " run" : " runs");
  if (kind != Kind::succeeded) text += ": " + error_class + ": " + message;
  return text;
}

}  // namespace brood::testing
