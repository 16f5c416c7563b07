#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// The user that runs this command, and its host: "ann@deploy1".  It is shown as the giver of an order.
std::string giver_of_orders();

// Gives an order through Redis to a supervisor that answers orders in its heartbeat.  Returns the order's id, which
// identifies the answer; nullopt if the supervisor's heartbeat has ended.  An order that is not taken within a minute
// is void.  Throws ConnectionLost when all shards are away.
std::optional<std::string> give_order(ShardConnections& shards, const std::string& identity, const std::string& verb,
                                      const std::vector<std::string>& arguments);

}  // namespace brood
