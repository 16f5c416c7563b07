#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The shard that everything with this text goes to, whatever program asks and in whatever order they are configured:
// the one of the greatest sha1("NAME:KEY").  Of those that stay when one is added or removed, none gets another's keys.
// Those that are left out count as removed; all are never left out.
std::size_t shard_of_key(std::span<const std::string> names, std::string_view key,
                         const std::vector<bool>& left_out = {});

}  // namespace brood
