#pragma once

#include <cstdint>

#include "worker/job/job_registry.hpp"

namespace brood {

// A number that identifies a set of job libraries.  It is made of their build ids; for a library without one, of its
// path, size and time.  It is the same in every process that has loaded the same files.  0: there are no libraries.
std::uint64_t libraries_digest(const JobRegistry& registry);

}  // namespace brood
