#pragma once

#include <functional>

#include <brood/abi.hpp>

#include "worker/job/job_registry.hpp"

namespace brood {

// Runs one job and writes its outcome into the result, whose texts are valid until the next call.
using JobBody = std::function<void(const abi::Call&, abi::Result&)>;

// Calls `body` inside the middleware of the libraries that serve all classes, which may change the call, and writes the
// outcome into `result`.  A job's own library puts its middleware around the job by itself.  Throws the exceptions that
// a library lets out.
void run_in_middleware(const JobRegistry& registry, const abi::Call& call, const JobBody& body, abi::Result& result);

}  // namespace brood
