#pragma once

#include <cstdint>
#include <string>

#include "shared/store/script.hpp"

namespace brood {

// Gives at most so many jobs back to `home` from the queue beside it in which they wait, see places_of_jobs.hpp.
// Answers how many; if fewer than `most`, all are back.
ScriptCall return_set_aside(const std::string& aside, const std::string& home, std::int64_t most);

}  // namespace brood
