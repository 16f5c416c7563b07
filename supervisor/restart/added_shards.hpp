#pragma once

#include <string>

#include "shared/config/config.hpp"

namespace brood {

// Why a brood that runs cannot serve what the next configuration wants instead of what it serves now; empty: it can.
// Shards may be added behind those that are there.  Others may be taken out, where `wanted` has empty places by then
// (see shard_places.hpp), if they are empty too: whoever asks here looks at that.  Pure.
std::string why_not_served(const RedisSettings& now, const RedisSettings& wanted);

}  // namespace brood
