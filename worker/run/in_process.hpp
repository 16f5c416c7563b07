#pragma once

#include "worker/run/job_code.hpp"
#include "worker/run/job_run.hpp"
#include "worker/run/left_behind.hpp"
#include "worker/run/run_book.hpp"

namespace brood {

// Runs jobs in the worker's own process, one after the other.  No job may find traces of an earlier one.
class InProcess : public Performer {
 public:
  InProcess(Workplace& place, JobCode& code, RunBook& book, LeftBehind& left_behind)
      : place_(place), code_(code), book_(book), left_behind_(left_behind) {}

  void perform(JobRun& run) override;
  Outcome judge(JobRun& run) override { return code_.judge(run); }
  void put_right(const JobRun& run) override;

 private:
  Workplace& place_;
  JobCode& code_;
  RunBook& book_;
  LeftBehind& left_behind_;
};

}  // namespace brood
