#pragma once

#include <functional>

#include <brood/abi.hpp>

#include "worker/job/job_registry.hpp"

namespace brood {

// Runs one job and writes down how that ended; the texts in it live until the next call.
using JobBody = std::function<void(const abi::Call&, abi::Result&)>;

// Calls `body` inside the middleware of the libraries that serve all classes, with the call as these have changed it,
// and writes into `result` how that ended.  A job's own library puts its own middleware around the job itself.  An
// exception that leaves a library leaves this function too.
void run_in_middleware(const JobRegistry& registry, const abi::Call& call, const JobBody& body, abi::Result& result);

}  // namespace brood
