#pragma once

#include <cstdint>

namespace brood {

// A further bit beside those of ClassFlag in a worker's record: the job that ran last has left threads behind.
inline constexpr std::uint32_t job_left_threads = 8;

}  // namespace brood
