#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace brood {

// The lines of a stack that ThrowWatch has noted, as a crash's are told, without what lies beneath every job.  A child
// process looks for the names, because broken debug information may crash or hang who reads it; when it is not done
// within `longest`, the lines have no names.
std::vector<std::string> describe_throw(const std::vector<std::uint64_t>& frames,
                                        std::chrono::milliseconds longest = std::chrono::seconds(2));

}  // namespace brood
