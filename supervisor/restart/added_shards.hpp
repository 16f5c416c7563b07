#pragma once

#include <string>

#include "shared/config/config.hpp"

namespace brood {

// Why a running brood cannot switch from the shards of `now` to those of `wanted`; empty if it can.  Pure.
//
// Shards may be added at the end.  Others may be removed if `wanted` has empty places instead (see shard_places.hpp)
// and they hold no jobs; the caller checks the latter.
std::string why_not_served(const RedisSettings& now, const RedisSettings& wanted);

}  // namespace brood
