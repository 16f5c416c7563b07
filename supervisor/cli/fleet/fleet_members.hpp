#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/store/report/supervisor_state.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// A process that performs jobs of this Redis, as its heartbeat shows it.
struct FleetMember {
  std::string identity, hostname, version;
  std::int64_t pid = 0, workers = 0;
  bool is_broods = false;                // Ruby's Sidekiq is not
  std::optional<SupervisorState> state;  // nullopt: Ruby's, or a brood that is older than orders with an answer
};

// All of them, by host and then by pid.  A process that serves several shards is listed once.  Throws ConnectionLost
// when all shards are away.
std::vector<FleetMember> fleet_members(ShardConnections& shards);

// Those whose identity is `word`, or begins with it; all when it is empty.  Throws UsageError when `word` is no whole
// identity and several begin with it.
std::vector<FleetMember> members_meant(std::vector<FleetMember> all, const std::string& word);

// One of them as it is now; nullopt: that is not known, since a shard is away.
struct SeenMember {
  bool beats = false;
  std::optional<SupervisorState> state = {};
};
std::optional<SeenMember> look_at_member(ShardConnections& shards, const std::string& identity);

// "web1 pid 4711", for people.
std::string title_of(const FleetMember& member);

}  // namespace brood
