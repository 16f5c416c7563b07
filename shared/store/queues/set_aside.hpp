#pragma once

#include <cstdint>
#include <string>

#include "shared/store/script.hpp"

namespace brood {

// Gives back to `home` what waits in a queue beside it, see places_of_jobs.hpp: so many jobs at most.  Answers how
// many, and with fewer all are back.
ScriptCall return_set_aside(const std::string& aside, const std::string& home, std::int64_t most);

}  // namespace brood
