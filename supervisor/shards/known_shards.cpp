#include "supervisor/shards/known_shards.hpp"

#include <algorithm>

#include "shared/base/shard_of_key.hpp"

namespace brood {

KnownShards::KnownShards(const std::vector<RedisAddress>& shards) {
  for (const RedisAddress& shard : shards) {
    names_.push_back(shard.shard);
    drained_.push_back(shard.is_drained);
    empty_.push_back(shard.is_empty_place);
    left_out_.push_back(shard.is_drained || shard.is_empty_place);
  }
}

std::size_t KnownShards::count() const {
  return static_cast<std::size_t>(std::count(empty_.begin(), empty_.end(), false));
}

std::size_t KnownShards::rank(int number) const {
  return static_cast<std::size_t>(std::count(empty_.begin(), empty_.begin() + number, false));
}

int KnownShards::home_of(std::string_view key) const { return static_cast<int>(shard_of_key(names_, key, left_out_)); }

}  // namespace brood
