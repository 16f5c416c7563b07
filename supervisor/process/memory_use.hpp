#pragma once

#include <sys/types.h>
#include <cstdint>
#include <vector>

namespace brood {

// This process' resident memory plus what its workers have of their own, in KB: the `rss` of a heartbeat.  Looks at 256
// workers at most and takes the others to be alike, so that the loop is not held up.
std::uint64_t memory_use_kb(const std::vector<pid_t>& workers);

}  // namespace brood
