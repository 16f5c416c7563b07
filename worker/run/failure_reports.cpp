#include "worker/run/failure_reports.hpp"

#include "shared/store/worker_field.hpp"

namespace brood {

FailureReports::FailureReports(const Workplace& place, const Identity& of_supervisor)
    : place_(place),
      source_{.identity = of_supervisor.name,
              .host = of_supervisor.hostname,
              .worker = {},
              .generation = place.setup.generation},
      spool_(error_spool_path(of_supervisor.runtime_directory, of_supervisor.name),
             place.setup.usage == nullptr ? nullptr : &place.setup.usage->errors) {}

void FailureReports::report(const JobRun& run, const Outcome& outcome) {
  source_.worker = worker_field(place_.setup.slot, place_.slot.record().own_incarnation.load());
  const auto report = report_failure(place_.config, source_, run.job, run.queue, run.performed.failure, outcome);
  if (report) spool_.write(report_json(*report));
}

}  // namespace brood
