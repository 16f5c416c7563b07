#include "worker/recovery/recovery_news.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/errors/error_spool.hpp"
#include "shared/otlp/span_pipe.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/worker_field.hpp"
#include "worker/job/failure_report.hpp"
#include "worker/job/span_of_run.hpp"

namespace brood {
namespace {

// The span of the run that the worker's end cut short.  The time when it began must be known.
RunSpan span_of_crash(const OtlpSettings& settings, const WorkerDeath& worker_death, const Payload& job,
                      const std::string& queue, const CrashReport& report) {
  const DeadWorker& worker = worker_death.worker;
  const WorkerDeath::Run& run = worker_death.run.value();
  RunSpan span = span_of_run(settings, job, queue,
                             {.identity = worker.identity,
                              .slot = worker.slot,
                              .began_ns = std::max<std::int64_t>(run.began.time_since_epoch().count(), 0),
                              .jid = job.jid()});
  span.took_ns = std::clamp<std::int64_t>(run.took.count(), 0, INT64_MAX - span.began_ns);
  const bool is_crash = worker_death.cause && worker_death.cause->counts_as_crash;
  span.end = is_crash ? RunSpan::End::crashed : RunSpan::End::failed;
  if (worker_death.cause && worker_death.cause->facts) span.pid = worker_death.cause->facts->pid;
  span.error_class = report.failure.error_class;
  span.message = report.failure.message;
  span.signal = report.signal;
  span.top = report.top;
  span.fingerprint = report.fingerprint;
  return span;
}

}  // namespace

RecoveryNews::RecoveryNews(const Config& config, std::string supervisor)
    : config_(config), supervisor_(std::move(supervisor)) {
  if (!config.statsd.address.empty()) statsd_.emplace(config.statsd, nullptr);
}

void RecoveryNews::begin() {
  span_.reset();
  poison_.clear();
  failures_.clear();
  deaths_ = 0;
}

void RecoveryNews::note_crash(const WorkerDeath& worker_death, const Payload& job, const std::string& queue,
                              const CrashReport& report) {
  span_.reset();
  if (config_.otlp.endpoint.empty() || !worker_death.run) return;
  const RunSpan span = span_of_crash(config_.otlp, worker_death, job, queue, report);
  log::set_standing_fact("trace_id", hex_of(span.trace.own.trace.data(), span.trace.own.trace.size()));
  if (span.trace.own.is_sampled()) span_ = span;
}

void RecoveryNews::note_poison(const std::string& job_class, const std::string& queue) {
  poison_.emplace_back(job_class, queue);
}

void RecoveryNews::note_failure(const DeadWorker& worker, const Payload& job, const std::string& queue,
                                const Failure& failure, const Outcome& outcome) {
  if (supervisor_.empty()) return;
  const FailureSource source{.identity = worker.identity,
                             .host = supervisor_.substr(0, supervisor_.find(':')),
                             .worker = worker_field(worker.slot, worker.incarnation)};
  if (const auto report = report_failure(config_, source, job, queue, failure, outcome))
    failures_.push_back(report_json(*report));
}

void RecoveryNews::tell(const DeadWorker& worker, const RecoveryResult& result) {
  note_died(worker, result);
  if (statsd_) count(worker, result);
  if (span_ && result.charged > 0) tell_span(worker);
  report_failures(result);
}

// How many of the noted jobs the recovery has moved.  If the worker settled in the meantime, it no longer held all jobs
// that were judged.
std::size_t RecoveryNews::done_of(std::size_t noted, const RecoveryResult& result) {
  return std::min(noted, static_cast<std::size_t>(result.charged + result.orphaned));
}

// Counts the jobs that died in the scoreboard of their worker.  Another host's scoreboard is not here, so its jobs are
// not counted.
void RecoveryNews::note_died(const DeadWorker& worker, const RecoveryResult& result) const try {
  const std::size_t died = done_of(deaths_, result);
  if (died == 0) return;
  Scoreboard::open(scoreboard_path(runtime_directory(), worker.identity), true).usage().died.fetch_add(died);
} catch (const std::exception& error) {
  log::debug("deaths_not_counted", {{"reason", error.what()}});
}

void RecoveryNews::count(const DeadWorker& worker, const RecoveryResult& result) {
  StatsdLines& lines = statsd_->lines();
  const std::string queue = worker.record ? worker.record->queue : "";
  const int recovered = result.charged + result.given_back + result.orphaned;
  if (!worker.ended_by_brood)
    lines.count("jobs.recovered.fetch", static_cast<std::uint64_t>(recovered), {{}, queue, {}});
  const std::size_t dead = done_of(poison_.size(), result);  // the newest
  for (auto job = poison_.end() - static_cast<std::ptrdiff_t>(dead); job != poison_.end(); ++job)
    lines.count("jobs.poison", 1, {job->first, job->second, {}});
  const std::uint64_t lost = statsd_->send();
  if (lost > 0) log::warn("statsd_dropped", {{"datagrams", lost}});
}

// If the script was sent again, the same jobs were judged again: the newest reports count.
void RecoveryNews::report_failures(const RecoveryResult& result) const try {
  const std::size_t done = done_of(failures_.size(), result);
  if (done == 0) return;
  const std::string directory = runtime_directory();
  Scoreboard board = Scoreboard::open(scoreboard_path(directory, supervisor_), true);
  ErrorSpoolWriter spool(error_spool_path(directory, supervisor_), &board.usage().errors);
  for (auto report = failures_.end() - static_cast<std::ptrdiff_t>(done); report != failures_.end(); ++report)
    spool.write(*report);
} catch (const std::exception& error) {
  log::warn("failure_not_reported", {{"reason", error.what()}});
}

void RecoveryNews::tell_span(const DeadWorker& worker) const {
  std::string record;
  append_record(record, *span_);
  std::atomic<std::uint64_t> lost = 0;
  SpanPipe(span_pipe_path(runtime_directory(), worker.identity), &lost).write(record, 1);
  if (lost > 0) log::warn("span_dropped", {{"jid", span_->jid}});
}

}  // namespace brood
