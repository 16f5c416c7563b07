#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/store/report/supervisor_state.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// A process that performs jobs of this Redis, according to its heartbeat.
struct FleetMember {
  std::string identity, hostname, version;
  std::int64_t pid = 0, workers = 0;
  bool is_broods = false;                // false for Ruby's Sidekiq
  std::optional<SupervisorState> state;  // nullopt for Ruby's, and for a brood too old to answer orders
};

// All processes, by host and then by pid.  A process that serves several shards is listed once.  Throws ConnectionLost
// when all shards are away.
std::vector<FleetMember> fleet_members(ShardConnections& shards);

// The members whose identity is `word` or begins with it; all if it is empty.  Throws UsageError if `word` is no whole
// identity and several begin with it.
std::vector<FleetMember> members_meant(std::vector<FleetMember> all, const std::string& word);

// The present state of one member; nullopt if it is unknown because a shard is away.
struct SeenMember {
  bool beats = false;
  std::optional<SupervisorState> state = {};
};
std::optional<SeenMember> look_at_member(ShardConnections& shards, const std::string& identity);

// "web1 pid 4711", for people.
std::string title_of(const FleetMember& member);

}  // namespace brood
