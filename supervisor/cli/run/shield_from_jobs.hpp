#pragma once

#include <string>

#include "shared/config/config.hpp"

namespace brood {

// Why jobs can signal their supervisor although the configuration forbids it; empty if they cannot.
std::string missing_shield(const Config& config);

// Keeps jobs, which run as the same user, from the supervisor's memory.  Warns if they can signal it.
void shield_from_jobs(const Config& config);

}  // namespace brood
