#include "worker/shards/limit_shards.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/shard_of_key.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr Connection::Timeouts of_limits{.connect = 2000ms, .command = 2000ms};

}  // namespace

LimitShards::LimitShards(const std::vector<RedisAddress>& shards, const std::size_t& served, Connection& own,
                         std::string client_name)
    : shards_(shards), served_(served), own_(own), client_name_(std::move(client_name)) {
  for (const RedisAddress& address : shards_) {
    names_.push_back(address.is_empty_place ? "" : address.shard);
    left_out_.push_back(address.is_drained || address.is_empty_place);
  }
}

LimitPlaces::Place LimitShards::place_of(const std::string& limit) {
  const std::size_t shard = shards_.size() > 1 ? shard_of_key(names_, "limit:" + limit, left_out_) : served_;
  return {at(shard), shard == served_ ? "" : names_[served_], shard};
}

Channel* LimitShards::shard(const std::string& name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? nullptr : at(static_cast<std::size_t>(found - names_.begin()));
}

Channel* LimitShards::at(std::size_t shard) {
  if (shard == served_) return &own_;
  const auto known = others_.find(shard);
  if (known != others_.end()) return &known->second;
  return &others_.emplace(shard, Connection(shards_[shard], of_limits, client_name_)).first->second;
}

}  // namespace brood
