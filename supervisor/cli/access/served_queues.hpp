#pragma once

#include <set>
#include <string>

#include "shared/redis/connection.hpp"
#include "shared/store/queues/known_queues.hpp"

namespace brood {

// The queues from which processes fetch, including Ruby's, by their heartbeats.
struct ServedQueues {
  bool known = false;  // false: the processes cannot be read, and every queue counts as served
  bool somebody_beats = false;
  std::set<std::string> names;

  bool holds(const std::string& queue) const { return !known || fetches_from(names, queue); }
};

// Reads the heartbeats in one shard, in two round trips.  Throws ConnectionLost or UnexpectedReply.
ServedQueues ask_served_queues(Connection& redis);
// The same for all shards.  Throws ConnectionLost when all shards are away, or UnexpectedReply.
class ShardConnections;
ServedQueues ask_served_queues(ShardConnections& shards);

// A queue for programs: one JSON object.
struct QueueSummary;
std::string queue_json(const QueueSummary& queue, const ServedQueues& served);

}  // namespace brood
