#pragma once

#include "worker/guard/job_meter.hpp"
#include "worker/isolation/job_forker.hpp"
#include "worker/isolation/job_messages.hpp"
#include "worker/run/job_process.hpp"
#include "worker/run/job_run.hpp"
#include "worker/run/worker_services.hpp"

namespace brood {

// Runs jobs in processes of their own, which a copy of the worker forks.
class Forked : public Performer {
 public:
  // Makes that copy.  Throws LibraryError, which names `isolated_class`, one that needs it.
  Forked(Workplace& place, WorkerServices& services, JobMeter& meter, const JobProcess& process,
         const std::string& isolated_class);

  // Whether the copy lives, so that jobs can run.
  bool is_there() const { return forker_.is_there(); }
  // Ends the copy; for a worker that ends in order.
  void leave();

  // Does not return if the job's process has crashed: this worker then ends in the same way.
  void perform(JobRun& run) override;
  // Call it once the job's process, and all that it had started, are gone: only then its answer counts.
  Outcome judge(JobRun& run) override { return noted_outcome(*run.judged).value(); }
  void put_right(const JobRun&) override { place_.output.end_job(place_.slot.record()); }

 private:
  JobEnd run_until_it_ends(const JobRun& run);
  [[noreturn]] void end_like(int status, const Payload& job);

  Workplace& place_;
  WorkerServices& services_;
  JobMeter& meter_;
  JobProcess process_;
  JobForker forker_;
};

}  // namespace brood
