#pragma once

#include "shared/base/identity.hpp"
#include "shared/errors/error_spool.hpp"
#include "shared/store/outcome.hpp"
#include "worker/job/failure_report.hpp"
#include "worker/run/job_run.hpp"
#include "worker/run/workplace.hpp"

namespace brood {

// Reports the failed jobs of this worker to the supervisor's reporter.  If the worker does not survive a job, the
// recovery reports it.
class FailureReports {
 public:
  FailureReports(const Workplace& place, const Identity& of_supervisor);

  // Never waits.
  void report(const JobRun& run, const Outcome& outcome);

 private:
  const Workplace& place_;
  FailureSource source_;
  ErrorSpoolWriter spool_;
};

}  // namespace brood
