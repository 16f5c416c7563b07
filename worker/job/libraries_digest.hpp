#pragma once

#include <cstdint>

#include "worker/job/job_registry.hpp"

namespace brood {

// Tells one set of job libraries from another: by their build ids, and by path, size and time where one has none.  The
// same in every process that has loaded the same files.  0: there is none.
std::uint64_t libraries_digest(const JobRegistry& registry);

}  // namespace brood
