#pragma once

#include <string>

#include "shared/config/config.hpp"

namespace brood {

// Why a brood that runs cannot serve what the next configuration wants instead of what it serves now; empty: it can.
// Shards may be added behind those that are there.  Pure.
std::string why_not_served(const RedisSettings& now, const RedisSettings& wanted);

}  // namespace brood
