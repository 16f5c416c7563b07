#pragma once

#include "shared/base/unique_fd.hpp"
#include "worker/run/job_code.hpp"
#include "worker/run/job_title.hpp"
#include "worker/run/left_behind.hpp"
#include "worker/run/run_spans.hpp"
#include "worker/run/sandboxes.hpp"

namespace brood {

// The process of one isolated job.  All code of the job's class runs in it, and it uses nothing that is the worker's:
// neither its connection nor its control pipe.  It has copies of these.
struct JobProcess {
  Workplace& place;
  JobCode& code;
  RunSpans* spans;  // nullptr: the runs are not traced
  JobTitle& title;
  LeftBehind& left_behind;
  Sandboxes& sandboxes;

  // First, while no signal can reach the process yet.
  void begin();
  // Takes the order that `socket` brings, performs the job, and tells the worker what came of it.
  void main(UniqueFd socket);
};

}  // namespace brood
