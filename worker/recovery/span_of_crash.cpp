#include "worker/recovery/span_of_crash.hpp"

#include <algorithm>

#include "worker/job/span_of_run.hpp"

namespace brood {

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

}  // namespace brood
