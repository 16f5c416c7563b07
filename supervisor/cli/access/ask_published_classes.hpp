#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/classes/published_classes.hpp"
#include "shared/classes/push_by_class.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/redis_access.hpp"

namespace brood {

class ShardConnections;

// The descriptions of job classes that workers publish, merged from all shards.  Two round trips per shard.  Throws
// ConnectionLost when all shards are away.
PublishedClasses ask_published_classes(ShardConnections& shards);
PublishedClasses ask_published_classes(Connection& redis);  // of this shard alone

// The same for a program that pushes once.  Empty if Redis does not answer: the push itself will report that.
PublishedClasses published_classes_for_push(ShardConnections& shards);

// The same for a program that pushes repeatedly.  Each call asks for the list of builds, but reads a build's document
// at most once a minute: it does not change while the workers of the build run.
class PublishedClassesForPushes {
 public:
  std::shared_ptr<const PublishedClasses> ask(ShardConnections& shards);

  // By build name.
  using Documents = std::map<std::string, std::string, std::less<>>;

 private:
  Documents documents_;
  SteadyTime forget_at_{};
  std::vector<std::pair<std::string, bool>> builds_;  // the builds in `classes_`, and whether each runs
  std::shared_ptr<const PublishedClasses> classes_;
};

// Whether a running Ruby Sidekiq fetches from a queue, according to its heartbeat.  Asks Redis once, on first use.
RubyServes ask_ruby_serves(ShardConnections& shards);

}  // namespace brood
