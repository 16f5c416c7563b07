#include "shared/redis/whereabouts.hpp"

#include <utility>

#include "shared/redis/connection.hpp"
#include "shared/redis/find_server.hpp"
#include "shared/redis/find_slot_owner.hpp"

namespace brood {

void Whereabouts::move_to(RedisAddress address) {
  address_ = std::move(address);
  place_ = {};
  host_.clear();
  moved_to_.reset();
}

RedisAddress Whereabouts::find(SteadyTime deadline) {
  if (!address_.must_be_found()) return address_;
  RedisAddress found =
      moved_to_ ? *std::exchange(moved_to_, std::nullopt) : std::move(find_server(address_, deadline).server);
  host_ = found.host;
  place_ = place_of(found);
  RedisSeed& before = places_[address_.without_password()];
  const bool is_elsewhere = !before.host.empty() && before != place_;
  before = place_;
  if (doubted_ != place_) doubted_ = {};
  if (is_elsewhere && finds_another_) finds_another_();
  return found;
}

RedisAddress Whereabouts::node(const RedisSeed& node) const { return node_address(address_, node, host_); }

bool Whereabouts::others_name_another(SteadyTime deadline) {
  if (!is_a_slot() || doubted_ == place_) return false;
  if (!brood::others_name_another(address_, place_, deadline)) return false;
  doubted_ = place_;
  return true;
}

bool Whereabouts::is_at_master(SteadyTime deadline) const {
  if (is_a_slot()) return others_name_owner(address_, place_, deadline);
  if (!address_.has_sentinels()) return true;
  try {
    const FoundServer found = find_server(address_, deadline);
    return !found.tellers.empty() && place_of(found.server) == place_;
  } catch (const ConnectionLost&) {
    return false;
  }
}

}  // namespace brood
