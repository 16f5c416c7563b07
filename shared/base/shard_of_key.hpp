#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The index of the shard for this key: the one with the greatest sha1("NAME:KEY").  It is the same shard in every
// program and in every order of configuration.  When a shard is added or removed, no key moves between the others.
// Shards that are `left_out` count as removed; at least one must not be.
std::size_t shard_of_key(std::span<const std::string> names, std::string_view key,
                         const std::vector<bool>& left_out = {});

}  // namespace brood
