#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/otlp/run_span.hpp"
#include "shared/statsd/statsd.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "shared/store/outcome.hpp"
#include "worker/crash/crash_report.hpp"

namespace brood {

// Reports recoveries to monitoring: how many jobs died, and, if configured, counters for StatsD and the span of the run
// that a crash ended.
class RecoveryNews {
 public:
  // `supervisor`: the identity of the supervisor whose child this is; empty: it is no child, and no failure is
  // reported.
  RecoveryNews(const Config& config, std::string supervisor);

  // The recovery of another worker begins: forgets what was noted before and not reported.
  void begin();
  // Notes that the worker died of this job.  Lines of the log have its trace from now on.
  void note_crash(const WorkerDeath& worker_death, const Payload& job, const std::string& queue,
                  const CrashReport& report);
  // Notes that a job goes to the dead set because it crashes its workers.
  void note_poison(const std::string& job_class, const std::string& queue);
  // Notes that a job is settled as failed, by `outcome`.
  void note_failure(const DeadWorker& worker, const Payload& job, const std::string& queue, const Failure& failure,
                    const Outcome& outcome);
  // Notes that a job goes to the dead set, for whatever reason.
  void note_death() { ++deaths_; }

  // Reports all of it when the recovery is done.  Jobs that a stop or a deploy gives back are not counted, since
  // nothing has gone wrong.
  void tell(const DeadWorker& worker, const RecoveryResult& result);

 private:
  static std::size_t done_of(std::size_t noted, const RecoveryResult& result);
  void note_died(const DeadWorker& worker, const RecoveryResult& result) const;
  void count(const DeadWorker& worker, const RecoveryResult& result);
  void tell_span(const DeadWorker& worker) const;
  void report_failures(const RecoveryResult& result) const;

  const Config& config_;
  const std::string supervisor_;
  std::optional<Statsd> statsd_;
  std::optional<RunSpan> span_;
  std::vector<std::string> failures_;                        // their reports
  std::vector<std::pair<std::string, std::string>> poison_;  // classes and queues
  std::size_t deaths_ = 0;
};

}  // namespace brood
