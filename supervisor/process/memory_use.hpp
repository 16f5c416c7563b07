#pragma once

#include <sys/types.h>
#include <cstdint>
#include <vector>

namespace brood {

// This process' resident memory plus the private memory of its workers, in KB: the `rss` of a heartbeat.  Samples at
// most 256 workers and extrapolates, so that the loop is not held up.
std::uint64_t memory_use_kb(const std::vector<pid_t>& workers);

}  // namespace brood
