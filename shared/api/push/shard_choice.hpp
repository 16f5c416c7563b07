#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/shard_of_key.hpp"

namespace brood {

// Which of several shards gets a push.  Pure: tests drive it with invented names and times.

// In which order to try them: from `first` on those that do not rest, one after the other, then those that rest, the
// one whose rest is over first.  A time of the past is no rest.
std::vector<std::size_t> shards_to_try(std::size_t first, std::span<const SteadyTime> rest_until, SteadyTime now);

// How long a shard rests that was found away after `took`: at most a tenth of the time goes into trying.
SteadyTime::duration rest_after(SteadyTime::duration took);

}  // namespace brood
