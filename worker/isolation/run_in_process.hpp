#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shared/job/payload.hpp"
#include "worker/isolation/job_forker.hpp"
#include "worker/isolation/job_messages.hpp"

namespace brood {

// What the worker does for the job's process meanwhile, over its own connection.
struct JobServices {
  std::function<LoadedIteration()> load_iteration;
  std::function<bool(const IterationState&)> save_iteration;  // true: somebody has cancelled the job
  std::function<FailureRule()> failure_rule;
  std::function<LimitResult(const WantedLimits&, const std::function<bool()>& is_wanted)> take_limits;
  std::function<void(const std::vector<LimitUse>&)> give_back_limits;
  std::function<bool()> term_came;  // and so must be sent to the job's process
};

// How one job ran in a process of its own.  That process has ended, and so has all that it started.
struct ProcessRun {
  JobForker::End end;
  std::optional<JobEnd> said;  // what came of the job; nullopt: the process did not live to say it
  std::string bad;             // not empty: what it said was no message, and why; it was killed for that
};

// Throws ForkerGone.
ProcessRun run_in_process(JobForker& forker, const JobOrder& order, const Payload& job, const JobServices& services);

}  // namespace brood
