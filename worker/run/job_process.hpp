#pragma once

#include "shared/base/unique_fd.hpp"
#include "worker/run/job_code.hpp"
#include "worker/run/job_title.hpp"
#include "worker/run/left_behind.hpp"
#include "worker/run/run_spans.hpp"
#include "worker/run/sandboxes.hpp"

namespace brood {

// The process of one isolated job.  All code of the job's class runs in it.  It has copies of the worker's connection
// and control pipe, and must not use them.
struct JobProcess {
  Workplace& place;
  JobCode& code;
  RunSpans* spans;  // nullptr: the runs are not traced
  JobTitle& title;
  LeftBehind& left_behind;
  Sandboxes& sandboxes;

  // Call it first, while no signal can reach the process yet.
  void begin();
  // Reads the order from `socket`, performs the job, and sends the result to the worker.
  void main(UniqueFd socket);
};

}  // namespace brood
