#pragma once

#include <string>

#include "shared/classes/published_classes.hpp"
#include "shared/classes/push_by_class.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/redis_access.hpp"

namespace brood {

class ShardConnections;

// What workers publish of their job classes, as every shard has it.  Two round trips.  Throws ConnectionLost when all
// shards are away.
PublishedClasses ask_published_classes(ShardConnections& shards);
PublishedClasses ask_published_classes(Connection& redis);  // as this shard has it

// The same for who pushes: empty where Redis does not tell, for the push itself reports that Redis is away.
PublishedClasses published_classes_for_push(ShardConnections& shards);

// Whether a living Ruby Sidekiq fetches from a queue, as its heartbeat says.  Redis is asked once, when it is needed.
RubyServes ask_ruby_serves(ShardConnections& shards);

}  // namespace brood
