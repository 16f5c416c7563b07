#include "worker/run/job_log.hpp"

#include <fmt/ranges.h>

#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/job/number_member.hpp"
#include "shared/store/deferral.hpp"

namespace brood {
namespace {

log::Fact elapsed(const JobRun& run) {
  const double seconds = std::chrono::duration<double>(steady_now() - run.started).count();
  log::Fact fact("elapsed", fmt::format("{:.3f}", seconds));
  fact.bare = true;  // a number
  return fact;
}

}  // namespace

void JobLog::begin(const JobRun& run) {
  if (log::enabled(level()))
    log::write(level(), "job_started",
               {{"jid", run.job.jid()}, {"class", run.job.display_class()}, {"queue", run.queue}});
  warn_of_clear_job(run);
  warn_of_foreign_batch(run);
  warn_of_ignored_options(run);
}

void JobLog::settled(const JobRun&) { log::clear_standing_facts(); }

void JobLog::say_how_long(std::string_view event, const JobRun& run) const {
  if (!log::enabled(level())) return;
  log::write(level(), event,
             {{"jid", run.job.jid()}, {"class", run.job.display_class()}, {"queue", run.queue}, elapsed(run)});
}

void JobLog::over_limit(const JobRun& run) const {
  if (!log::enabled(level())) return;
  log::write(level(), "job_over_limit",
             {{"jid", run.job.jid()},
              {"class", run.job.display_class()},
              {"queue", run.queue},
              {"reason", run.performed.failure.message},
              {"times", std::to_string(times_over_limit(run.job) + 1)},
              {"in", fmt::format("{:.1f}s", std::chrono::duration<double>(run.performed.delay).count())}});
}

void JobLog::failed(const JobRun& run) const {
  log::warn("job_failed", {{"jid", run.job.jid()},
                           {"class", run.job.display_class()},
                           {"queue", run.queue},
                           elapsed(run),
                           {"error", run.performed.failure.error_class},
                           {"message", run.performed.failure.message}});
}

void JobLog::deferred(std::string_view event, const Payload& job, const std::string& queue) const {
  log::write(level(), event, {{"jid", job.jid()}, {"class", job.display_class()}, {"queue", queue}});
}

// Warns once for each class: a client that pushes one job in clear pushes all of them so.
void JobLog::warn_of_clear_job(const JobRun& run) {
  if (config_.encryption.require || !code_.came_in_clear(run.job)) return;
  if (!came_in_clear_.insert(run.job.code_class()).second) return;
  log::warn("job_in_clear",
            {{"jid", run.job.jid()},
             {"class", run.job.display_class()},
             {"queue", run.queue},
             {"hint",
              "its class says that its jobs are encrypted, and this one was pushed in clear; [encryption] "
              "require = true, the default, refuses such jobs"}});
}

// Warns of jobs in batches of Sidekiq Pro.  Such a job runs like others and keeps its `bid`, but only Pro counts it.
void JobLog::warn_of_foreign_batch(const JobRun& run) {
  const auto batch = run.job.raw("batch_index") ? std::nullopt : run.job.string("bid");
  const std::uint64_t jobs = batch ? foreign_batches_.note(run.started) : 0;
  if (jobs == 0) return;
  log::warn("job_of_foreign_batch", {{"jid", run.job.jid()},
                                     {"class", run.job.display_class()},
                                     {"bid", *batch},
                                     {"jobs", jobs},
                                     {"reason", "it belongs to a batch that only Sidekiq Pro can count"}});
}

// Warns of jobs with an invalid option, such as `timeout: "5m"`, which run without it.
void JobLog::warn_of_ignored_options(const JobRun& run) {
  const std::vector<std::string> ignored = ignored_options(run.job);
  const std::uint64_t jobs = ignored.empty() ? 0 : ignored_options_.note(run.started);
  if (jobs == 0) return;
  log::warn("job_option_ignored", {{"jid", run.job.jid()},
                                   {"class", run.job.display_class()},
                                   {"options", fmt::format("{}", fmt::join(ignored, ", "))},
                                   {"jobs", jobs},
                                   {"reason", "there belongs a number; a retry that is none counts as true"}});
}

}  // namespace brood
