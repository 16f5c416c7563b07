#pragma once

#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"

namespace brood {

// Finds the node of a Redis Cluster that owns the slot of a shard.  Nodes are asked one after the other, those that are
// known from an earlier search and those of the address, until one says who the owner is and that the cluster works;
// where none says that, the youngest claim is believed.  By then another node may own the slot: the one found then
// answers MOVED, or not at all.
//
// Blocks until `deadline` at most, but for the system's resolver.  Throws ConnectionLost when no node answers or none
// owns the slot: login_refused when all that answer refuse us, host_unknown when no node's name is known.
RedisAddress find_slot_owner(const RedisAddress& shard, SteadyTime deadline);

// Whether another node says that `owner` owns that slot, and that the cluster works: one that is cut off from the
// others does not know it.  True where there is no other.  Blocks as find_slot_owner() does.
bool others_name_owner(const RedisAddress& shard, const RedisSeed& owner, SteadyTime deadline);

// Whether another node says that somebody else owns that slot, and that the cluster works.  Blocks as find_slot_owner()
// does.
bool others_name_another(const RedisAddress& shard, const RedisSeed& owner, SteadyTime deadline);

// A node of the cluster, and who we are to it.  `host` may be empty: it is that of `teller`, who told of it.
RedisAddress node_address(const RedisAddress& shard, const RedisSeed& node, const std::string& teller);

// Lets this process, and its children to come, know the nodes that another has found.
void remember_nodes(const RedisAddress& shard, const std::vector<RedisSeed>& nodes);
std::vector<RedisSeed> known_nodes(const RedisAddress& shard);

}  // namespace brood
