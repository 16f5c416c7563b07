#include "worker/testing/job_runner.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <brood/error.hpp>

#include "shared/base/log_line.hpp"
#include "shared/job/batch_membership.hpp"
#include "shared/job/expiry.hpp"
#include "shared/job/job_report.hpp"
#include "shared/job/random_bytes.hpp"
#include "shared/job/retry_decision.hpp"
#include "worker/testing/known_jobs.hpp"

namespace brood::testing {
namespace {

void say(const Payload& job, std::string_view message) {
  const std::string line = job.display_class() + " " + job.jid() + ": " + log::printable(message) + "\n";
  std::fputs(line.c_str(), stderr);
}

std::string known_classes(const Jobs& jobs) {
  std::string list;
  for (const std::string& name : jobs.class_names()) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "none" : list;
}

}  // namespace

JobRunner::JobRunner(Jobs jobs, std::function<bool(std::string_view)> batch_cancelled)
    : jobs_(std::move(jobs)), batch_cancelled_(std::move(batch_cancelled)) {
  // library() registers its classes where middleware finds the class that it makes of a job.  All Jobs of a program
  // share that registry, and the last call is the effective one: so call it again.
  for (const brood::detail::CompiledIn& compiled_in : jobs_.known_->compiled_in) compiled_in.library();
}

Ran JobRunner::run(const std::string& payload, const std::string& queue, std::optional<WallTime> due) {
  Payload job = Payload::parse(payload);
  if (const auto expiry = due ? kept_expiry(job, *due) : std::nullopt) job = job.with({*expiry});
  if (jobs_.known_->registry.find(job.job_class()) == nullptr) {
    const std::string message = "no job class \"" + job.job_class() +
                                "\" is among the Jobs that this test performs; known: " + known_classes(jobs_);
    Ran ran = fail(job, queue, {"NameError", message, {}});
    ran.thrown = std::make_exception_ptr(std::invalid_argument(message));
    return ran;
  }
  const WallTime begins = due ? std::max(*due, wall_now()) : wall_now();
  if (const auto expiry = expiry_of(job); expiry && *expiry < begins) {
    keep(job,
         {.state = JobState::done, .error_class = "JobExpired", .error_message = "it had not begun when it expired"});
    const auto threw = tell_expired(jobs_.known_->registry, job, queue);
    return {.ending = JobEnding::done, .performed = false, .thrown = threw ? thrown_by(job, *threw) : nullptr};
  }
  JobReport report{.state = JobState::done};
  const SteadyTime began = steady_now();
  const Performed performed = perform_whole(job, queue, report);
  if (performed.kind == Performed::Kind::interrupted)
    return {.ending = std::nullopt, .thrown = std::make_exception_ptr(Interrupted{})};
  report.elapsed = std::chrono::round<std::chrono::microseconds>(steady_now() - began);
  const bool failed = performed.kind == Performed::Kind::failed;
  if (failed) {
    report.state = JobState::dead;  // nothing is retried
    report.result = {};
    report.error_class = performed.failure.error_class;
    report.error_message = performed.failure.message;
  }
  keep(job, std::move(report));
  if (!failed) return {.ending = JobEnding::done};
  Ran ran = fail(job, queue, performed.failure);
  ran.thrown = thrown_by(job, performed.failure);
  return ran;
}

Ran JobRunner::fail(const Payload& job, const std::string& queue, const Failure& failure) const {
  const Verdict verdict = judge_failure(job, failure, {}, class_retry(jobs_.known_->registry, job), queue, wall_now(),
                                        RandomBytes().fraction(), {});
  if (verdict.kind == Verdict::Kind::retry) return {.ending = JobEnding::failed, .record = verdict.payload.text()};
  const bool is_kept = verdict.kind == Verdict::Kind::exhausted && goes_to_dead(verdict.payload, false);
  return {.ending = JobEnding::gone, .record = is_kept ? verdict.payload.text() : ""};
}

void JobRunner::keep(const Payload& job, JobReport report) {
  if (!keeps_report(job)) return;
  report.jid = job.jid();
  report.ended_at = std::chrono::system_clock::now();
  const std::lock_guard lock(mutex_);
  const auto batch = batch_named_by(job);
  if (batch && report.state == JobState::done && report.result != Json{})
    step_results_[{batch->bid, job.string("step").value_or("")}] = report.result.text;
  if (job.raw("keep_result")) reports_[job.jid()] = std::move(report);
}

std::optional<std::string> JobRunner::step_result(std::string_view bid, std::string_view step) const {
  const std::lock_guard lock(mutex_);
  const auto found = step_results_.find({std::string(bid), std::string(step)});
  return found == step_results_.end() ? std::nullopt : std::optional(found->second);
}

// A job that stops at its max_iteration_runtime has moved its cursor, so it is run again.  A job that has not moved it
// is not run again, since that would never end.
Performed JobRunner::perform_whole(const Payload& job, const std::string& queue, JobReport& report) {
  for (;;) {
    const IterationState before = iteration(job.jid());
    Performed performed = perform(jobs_.known_->registry, job, queue, host_of(job, report));
    if (performed.kind != Performed::Kind::interrupted || iteration(job.jid()).cursor == before.cursor)
      return performed;
  }
}

JobHost JobRunner::host_of(const Payload& job, JobReport& report) {
  IterationHost iterations;
  iterations.interrupt = [] { return false; };
  iterations.load = [this, &job] { return iteration(job.jid()); };
  iterations.save = [this, &job](const IterationState& state) {
    const std::lock_guard lock(mutex_);
    IterationState& kept = iterations_[job.jid()];
    kept = {.executions = state.executions,
            .cursor = state.cursor,
            .run_seconds = state.run_seconds,
            .cancelled = kept.cancelled};
    return kept.cancelled.has_value();
  };
  iterations.end = [this, &job] {
    const std::lock_guard lock(mutex_);
    iterations_.erase(job.jid());
  };
  return {.stopping = [] { return false; },
          .capsule = "default",
          .iterations = std::move(iterations),
          .limits = LimitHost{.take = [this](const std::vector<Limit>& limits,
                                             std::chrono::milliseconds) { return take_limits(limits); },
                              .give_back = [](const std::vector<LimitUse>&) {}},
          .result_of = [this](std::string_view bid, std::string_view step) { return step_result(bid, step); },
          .batch_cancelled = batch_cancelled_,
          .say = [&job](std::string_view message) { say(job, message); },
          .keep_result = [&report](std::string json) { report.result.text = std::move(json); },
          .note_progress =
              [this, &job](const JobProgress& progress) {
                const std::lock_guard lock(mutex_);
                progress_[job.jid()] = progress;
              }};
}

std::optional<JobReport> JobRunner::report(std::string_view jid) const {
  const std::lock_guard lock(mutex_);
  const auto found = reports_.find(jid);
  return found == reports_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<JobProgress> JobRunner::progress(std::string_view jid) const {
  const std::lock_guard lock(mutex_);
  const auto found = progress_.find(jid);
  return found == progress_.end() ? std::nullopt : std::optional(found->second);
}

std::exception_ptr JobRunner::thrown_by(const Payload& job, const Failure& failure) const {
  const auto& known = *jobs_.known_;
  const abi::Library* const library = known.registry.find(job.job_class())->library;
  for (const brood::detail::CompiledIn& compiled_in : known.compiled_in) {
    if (compiled_in.library() != library) continue;
    if (std::exception_ptr thrown = compiled_in.take_thrown(failure.error_class)) return thrown;
  }
  return std::make_exception_ptr(JobFailed(failure.error_class, failure.message));
}

IterationState JobRunner::iteration(const std::string& jid) const {
  const std::lock_guard lock(mutex_);
  const auto found = iterations_.find(jid);
  return found == iterations_.end() ? IterationState{} : found->second;
}

std::int64_t JobRunner::cancel_iteration(std::string_view jid, std::int64_t now_epoch_seconds) {
  const std::lock_guard lock(mutex_);
  IterationState& state = iterations_[std::string(jid)];
  if (!state.cancelled) state.cancelled = now_epoch_seconds;
  return *state.cancelled;
}

LimitResult JobRunner::take_limits(const std::vector<Limit>& limits) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (reached_limits_.contains(limits[i].name)) return {LimitResult::Kind::over, i, ""};
  }
  return {};
}

void JobRunner::reach_limit(std::string_view name) {
  const std::lock_guard lock(mutex_);
  reached_limits_.emplace(name);
}

void JobRunner::free_limit(std::string_view name) {
  const std::lock_guard lock(mutex_);
  reached_limits_.erase(std::string(name));
}

void JobRunner::forget_iterations() {
  const std::lock_guard lock(mutex_);
  iterations_.clear();
  reports_.clear();
  progress_.clear();
}

}  // namespace brood::testing
