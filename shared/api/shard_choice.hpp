#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// Which of several shards gets a push.  Pure: tests drive it with invented names and times.

// The shard for every push with this key, in all programs and whatever the order of the configuration: the one with the
// greatest sha1("NAME:KEY").  When a shard is added or removed, no key moves between the others.
std::size_t shard_of_key(std::span<const std::string> names, std::string_view key);

// In which order to try them: from `first` on those that do not rest, one after the other, then those that rest, the
// one whose rest is over first.  A time of the past is no rest.
std::vector<std::size_t> shards_to_try(std::size_t first, std::span<const SteadyTime> rest_until, SteadyTime now);

// How long a shard rests that was found away after `took`: at most a tenth of the time goes into trying.
SteadyTime::duration rest_after(SteadyTime::duration took);

}  // namespace brood
