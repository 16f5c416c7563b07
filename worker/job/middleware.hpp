#pragma once

#include <functional>

#include <brood/abi.hpp>

#include "worker/job/job_registry.hpp"

namespace brood {

// Runs one job and writes down how that ended, by texts that live until it is called again.
using JobBody = std::function<void(const abi::Call&, abi::Result&)>;

// Calls `body` within the middleware of the libraries that serve all, with what they have changed, and writes down how
// that ended.  The library of a job puts its own middleware around it by itself.  An exception that leaves a library
// comes out, too.
void run_in_middleware(const JobRegistry& registry, const abi::Call& call, const JobBody& body, abi::Result& result);

}  // namespace brood
