#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The shard for this key, the same in every program and in every order of configuration: the one with the greatest
// sha1("NAME:KEY").  When a shard is added or removed, no key moves between the others.  Shards that are left out count
// as removed; at least one never is.
std::size_t shard_of_key(std::span<const std::string> names, std::string_view key,
                         const std::vector<bool>& left_out = {});

}  // namespace brood
