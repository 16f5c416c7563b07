#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace brood {

// The lines of a stack that ThrowWatch has noted, in the form of a crash's, without what lies beneath every job.  A
// child process looks up the names, because broken debug information may crash or hang its reader; when it takes longer
// than `longest`, the lines have no names.
std::vector<std::string> describe_throw(const std::vector<std::uint64_t>& frames,
                                        std::chrono::milliseconds longest = std::chrono::seconds(2));

}  // namespace brood
