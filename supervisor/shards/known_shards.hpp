#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/address.hpp"

namespace brood {

// All shards of a supervisor, by their numbers.  Pure.
class KnownShards {
 public:
  KnownShards() = default;
  explicit KnownShards(const std::vector<RedisAddress>& shards);

  const std::string& name(int number) const { return names_.at(static_cast<std::size_t>(number)); }
  bool is_drained(int number) const { return drained_.at(static_cast<std::size_t>(number)); }
  bool is_empty_place(int number) const { return empty_.at(static_cast<std::size_t>(number)); }

  // The number of shards that are not empty places.
  std::size_t count() const;
  // The rank of this shard among those.
  std::size_t rank(int number) const;

  // The shard for everything with this key; never a drained one.
  int home_of(std::string_view key) const;

 private:
  std::vector<std::string> names_;
  std::vector<bool> drained_, empty_, left_out_;
};

}  // namespace brood
