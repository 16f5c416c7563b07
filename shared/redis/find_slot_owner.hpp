#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/redirection.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Finds the node of a Redis Cluster that owns the slot of a shard.  Asks nodes one after the other, first those known
// from an earlier search, then those of the address, until one names the owner and confirms that the cluster works.  If
// none confirms that, the claim with the highest epoch counts.  The slot may move meanwhile: then the node found
// answers MOVED, or not at all.
//
// Blocks until `deadline` at most; the system's resolver may take longer.  Throws ConnectionLost if no node answers or
// none owns the slot: login_refused if all that answer refuse us, host_unknown if no node's name is known.
RedisAddress find_slot_owner(const RedisAddress& shard, SteadyTime deadline);

// Whether another node confirms that `owner` owns that slot, and that the cluster works: a node that is cut off from
// the others does not know it.  True if there is no other.  Blocks as find_slot_owner() does.
bool others_name_owner(const RedisAddress& shard, const RedisSeed& owner, SteadyTime deadline);

// Whether another node names another owner of that slot, and confirms that the cluster works.  Blocks as
// find_slot_owner() does.
bool others_name_another(const RedisAddress& shard, const RedisSeed& owner, SteadyTime deadline);

// The address of a node of the cluster, with our user there.  If the node has no host, it is that of `teller`, which
// named the node.
RedisAddress node_address(const RedisAddress& shard, const RedisSeed& node, const std::string& teller);

// Lets this process, and its children to come, know the nodes that another has found.
void remember_nodes(const RedisAddress& shard, const std::vector<RedisSeed>& nodes);
std::vector<RedisSeed> known_nodes(const RedisAddress& shard);

// ---- A Redis Cluster's description of itself: which node owns which slot.  All of this is pure.

inline constexpr int cluster_slots = 16'384;

// The slot that a key lies in: computed from the text in its first pair of braces, if it has any, else from the whole
// key.
int slot_of(std::string_view key);

// Whether this may be the name of a node's host, which is then looked up and logged.
bool fits_a_host(std::string_view host);

// The owner of a slot, as one node sees it.
struct SlotOwner {
  RedisSeed node;
  std::uint64_t epoch = 0;  // of the owner's claim; if two nodes name different owners, the higher epoch is right
  bool is_teller = false;   // the owner is the node that answered; false also if no node is marked "myself"
  std::vector<RedisSeed> others{};  // all nodes that are known, the owner too, but no more than 1,000
};

// Asks a node which node owns a slot; nullopt if none does.  Throws UnexpectedReply.
std::vector<Command> ask_slot_owners();
std::optional<SlotOwner> read_slot_owner(int slot, std::span<const Reply> replies);
// Whether the node that answered takes commands.  A node that sees too few of the others does not, and its answers may
// be wrong.
bool read_cluster_works(std::span<const Reply> replies);

}  // namespace brood
