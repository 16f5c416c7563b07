#pragma once

#include <functional>
#include <optional>
#include <string>

#include "shared/job/payload.hpp"
#include "worker/isolation/job_forker.hpp"
#include "worker/isolation/job_messages.hpp"
#include "worker/isolation/job_services.hpp"

namespace brood {

// How one job ran in a process of its own.  That process, and all that it had started, have ended.
struct ProcessRun {
  JobForker::End end;
  std::optional<JobEnd> said;  // how the job ended; nullopt: the process ended before it could report that
  std::string bad;             // not empty: why a message was invalid, for which the process was killed
};

// Runs a job so.  `services` are the worker's services to the job's process.  `term_came` returns whether TERM has
// come, and so must be sent to that process.  Throws ForkerGone.
ProcessRun run_in_process(JobForker& forker, const JobOrder& order, const Payload& job, JobServices& services,
                          const std::function<bool()>& term_came);

}  // namespace brood
