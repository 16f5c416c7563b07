#pragma once

#include <string>

#include "shared/store/report/fleet_lease.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// Holds the lease of a fleet's restart for a command, in every shard that answers.  Its destructor releases it.
class HeldLease {
 public:
  HeldLease(ShardConnections& shards, FleetLease lease) : shards_(shards), lease_(std::move(lease)) {}
  ~HeldLease();
  HeldLease(const HeldLease&) = delete;
  HeldLease& operator=(const HeldLease&) = delete;

  // Takes or renews the lease.  If another command holds it, returns a sentence that names it.  Empty if this command
  // holds it, or if Redis does not answer: then no other command can take it either.
  std::string hold();

 private:
  ShardConnections& shards_;
  const FleetLease lease_;
};

}  // namespace brood
