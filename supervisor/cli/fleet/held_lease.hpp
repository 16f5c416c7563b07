#pragma once

#include <string>

#include "shared/store/report/fleet_lease.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// The lease of a fleet's restart while a command holds it, in every shard that answers.  Its destructor gives it up.
class HeldLease {
 public:
  HeldLease(ShardConnections& shards, FleetLease lease) : shards_(shards), lease_(std::move(lease)) {}
  ~HeldLease();
  HeldLease(const HeldLease&) = delete;
  HeldLease& operator=(const HeldLease&) = delete;

  // Takes the lease, or keeps it.  Returns who holds it otherwise, as a sentence; empty: this command does, or Redis
  // does not answer, so that no other command can take it either.
  std::string hold();

 private:
  ShardConnections& shards_;
  const FleetLease lease_;
};

}  // namespace brood
