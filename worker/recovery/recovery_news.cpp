#include "worker/recovery/recovery_news.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/otlp/span_pipe.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "worker/recovery/span_of_crash.hpp"

namespace brood {

RecoveryNews::RecoveryNews(const Config& config) : config_(config) {
  if (!config.statsd.address.empty()) statsd_.emplace(config.statsd, nullptr);
}

void RecoveryNews::begin() {
  span_.reset();
  poison_.clear();
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

void RecoveryNews::tell(const DeadWorker& worker, const RecoveryResult& result) {
  note_died(worker, result);
  if (statsd_) count(worker, result);
  if (span_ && result.charged > 0) tell_span(worker);
}

// How many of the jobs that were noted the recovery has moved.  If their worker had settled in the meantime, jobs were
// judged that it did not hold any more.
std::size_t RecoveryNews::done_of(std::size_t noted, const RecoveryResult& result) {
  return std::min(noted, static_cast<std::size_t>(result.charged + result.orphaned));
}

// The scoreboard of another host is not here; then they are not counted.
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

void RecoveryNews::tell_span(const DeadWorker& worker) const {
  std::string record;
  append_record(record, *span_);
  std::atomic<std::uint64_t> lost = 0;
  SpanPipe(span_pipe_path(runtime_directory(), worker.identity), &lost).write(record, 1);
  if (lost > 0) log::warn("span_dropped", {{"jid", span_->jid}});
}

}  // namespace brood
