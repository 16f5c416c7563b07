#pragma once

#include <functional>
#include <optional>
#include <string>

#include "shared/job/payload.hpp"
#include "worker/isolation/job_forker.hpp"
#include "worker/isolation/job_messages.hpp"
#include "worker/isolation/job_services.hpp"

namespace brood {

// How one job ran in a process of its own.  That process has ended, and so has all that it started.
struct ProcessRun {
  JobForker::End end;
  std::optional<JobEnd> said;  // what came of the job; nullopt: the process did not live to say it
  std::string bad;             // not empty: what it said was no message, and why; it was killed for that
};

// `services` are what the worker does for the job's process meanwhile.  `term_came` tells whether TERM has come, and so
// must be sent to that process.  Throws ForkerGone.
ProcessRun run_in_process(JobForker& forker, const JobOrder& order, const Payload& job, JobServices& services,
                          const std::function<bool()>& term_came);

}  // namespace brood
