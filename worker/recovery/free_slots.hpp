#pragma once

#include <functional>
#include <set>
#include <string>

#include "shared/redis/connection.hpp"
#include "shared/store/in_flight/recover_worker.hpp"

namespace brood {

// The sources by which a sweep finds out whether the holders of slots still hold them: see witness_of().
struct SlotWitnesses {
  OwnIncarnations own;
  std::set<std::string> shards;  // the names of those that are configured
  std::function<Channel&(const std::string& shard)> shard;
  // Returns those of the supervisors that have had no heartbeat for so long that they are dead.
  std::function<std::set<std::string>(const std::set<std::string>& supervisors)> silent;
};

// Frees the slots of all limits in this shard whose holders are known not to hold them any more.  If a shard does not
// answer, slots that are held from there stay held.  Returns how many it freed.  Throws ConnectionLost or
// UnexpectedReply of this shard.
int free_slots_of_the_gone(Channel& redis, const SlotWitnesses& witnesses);

}  // namespace brood
