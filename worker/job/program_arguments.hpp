#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "shared/job/payload.hpp"

namespace brood {

// An argument that cannot be passed to a program; what() is one sentence without the class.
class BadArgument : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Pure: the words that a program is started with, from a command's `run` and a job's `args` (a JSON array).  Strings
// are passed as they are, null as an empty word, and other values as their JSON text, as the client spelled it.  Throws
// BadArgument.
std::vector<std::string> program_words(const std::vector<std::string>& run, std::string_view args);

// The arguments of the payload; for an Active Job those that it wraps.  Throws BadArgument.
std::string plain_arguments(const Payload& job);

}  // namespace brood
