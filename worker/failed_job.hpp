#pragma once

#include <string>

#include "shared/job/failure.hpp"
#include "shared/store/casualty.hpp"
#include "shared/store/outcome.hpp"
#include "worker/job_registry.hpp"

namespace brood {

// How a job that failed is settled, by the ordinary retry policy: error handlers run, the class's hooks are asked, and
// death handlers run for a job that is not to be tried again.  With `ask_hooks` false no code of a library runs.
Outcome settle_failure(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                       const RetryPolicy& policy, bool ask_hooks = true);

// How a job is settled that somebody ended by hand: no attempt is charged, and no code of a library runs.
Outcome settle_by_hand(const Payload& job, std::string_view queue, const Failure& failure, Casualty::Fate fate);

// A text that is no job goes to `dead` as it is: nothing may be added to it.  The log says why.
Outcome bury_unreadable(const std::string& payload, std::string_view queue, const std::string& reason);

}  // namespace brood
