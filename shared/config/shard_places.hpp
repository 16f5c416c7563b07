#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"

namespace brood {

// A shard's number is its place in the list of all shards.  Workers, records and handovers refer to it by this number.
// So the place of a shard that is taken out while brood runs stays empty until brood is stopped.  All of this is pure.

// `wanted` with an empty place for each shard whose place is empty in `now`, or which `wanted` no longer names.
// Unchanged if the shards that stay are in another order: why_not_served() reports that.
RedisSettings with_empty_places(const RedisSettings& now, RedisSettings wanted);

// For a program that takes over: `wanted`, in which the places with these numbers are empty.
RedisSettings with_empty_places(const std::vector<int>& numbers, RedisSettings wanted);

bool is_empty_place(const RedisSettings& settings, int number);

// The numbers of the empty places of `wanted`; places_left_empty() returns only those whose shard `now` still has.
std::vector<int> empty_places(const RedisSettings& wanted);
std::vector<int> places_left_empty(const RedisSettings& now, const RedisSettings& wanted);

}  // namespace brood
