#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"

namespace brood {

// A shard's number is its place in the list of all shards; workers, records and handovers refer to it by this number.
// So the place of a shard that is taken out while brood runs stays empty until brood is stopped.  All of this is pure.

// `wanted` with an empty place for each shard that has one in `now`, or that it does not name.  Unchanged if it names
// those that stay in another order: why_not_served() reports that.
RedisSettings with_empty_places(const RedisSettings& now, RedisSettings wanted);

// The same for a program that takes over: the places with these numbers are empty.
RedisSettings with_empty_places(const std::vector<int>& numbers, RedisSettings wanted);

bool is_empty_place(const RedisSettings& settings, int number);

// The numbers of the places of `wanted` that are empty, or only of those whose shard `now` still has.
std::vector<int> empty_places(const RedisSettings& wanted);
std::vector<int> places_left_empty(const RedisSettings& now, const RedisSettings& wanted);

}  // namespace brood
