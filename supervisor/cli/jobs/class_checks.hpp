#pragma once

#include <brood/push.hpp>
#include <set>
#include <string>

#include "shared/base/clock.hpp"
#include "supervisor/cli/access/ask_published_classes.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// Checks pushes against what workers publish of their classes: see go_by_class().  Prints each warning once, on
// standard error.
class ClassChecks {
 public:
  // Warnings begin with `command`, such as "brood enqueue".
  ClassChecks(const RedisAccess& access, std::string command, bool unchecked);

  // Throws PushRefused.
  void go_by(Push& push, const SaidByPush& said);

 private:
  void ask();
  void warn(const std::string& warning);
  void warn_of_problems();

  ShardConnections shards_;
  const std::string command_;
  const bool unchecked_;
  PublishedClasses published_;
  std::size_t problems_told_ = 0;  // of published_
  RubyServes ruby_serves_;
  std::optional<SteadyTime> asked_;  // a long bulk asks again: workers may have been deployed since
  std::set<std::string> warned_;
};

}  // namespace brood
