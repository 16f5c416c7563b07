#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace brood {

// Returns the lines of a stack that ThrowWatch has noted, in the form of a crash's backtrace.  Brood's frames around
// the job are left out.  A child process looks up the names, because broken debug information may crash or hang its
// reader.  If it takes longer than `longest`, the lines have no names.
std::vector<std::string> describe_throw(const std::vector<std::uint64_t>& frames,
                                        std::chrono::milliseconds longest = std::chrono::seconds(2));

}  // namespace brood
