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

// What workers publish of their job classes, as every shard has it.  Two round trips.  Throws ConnectionLost when all
// shards are away.
PublishedClasses ask_published_classes(ShardConnections& shards);
PublishedClasses ask_published_classes(Connection& redis);  // as this shard has it

// The same for who pushes: empty where Redis does not tell, for the push itself reports that Redis is away.
PublishedClasses published_classes_for_push(ShardConnections& shards);

// The same for a program that pushes again and again.  Each time it asks which builds there are, and reads the
// documents alone that it has not read within the last minute: a build's document does not change while its workers
// run.
class PublishedClassesForPushes {
 public:
  std::shared_ptr<const PublishedClasses> ask(ShardConnections& shards);

  // By the names of their builds.
  using Documents = std::map<std::string, std::string, std::less<>>;

 private:
  Documents documents_;
  SteadyTime forget_at_{};
  std::vector<std::pair<std::string, bool>> builds_;  // of `classes_`, and whether they run
  std::shared_ptr<const PublishedClasses> classes_;
};

// Whether a living Ruby Sidekiq fetches from a queue, as its heartbeat says.  Redis is asked once, when it is needed.
RubyServes ask_ruby_serves(ShardConnections& shards);

}  // namespace brood
