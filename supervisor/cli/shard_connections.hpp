#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "supervisor/cli/redis_access.hpp"

namespace brood {

// The connections of a command to all shards that it is to ask.
class ShardConnections {
 public:
  // Throws what RedisAccess::shards() throws.
  ShardConnections(const RedisAccess& access, Connection::Timeouts timeouts, const std::string& client_name);

  struct Shard {
    RedisAddress address;
    Connection redis;
  };
  std::size_t size() const { return shards_.size(); }
  Shard& operator[](std::size_t i) { return *shards_[i]; }

  // One after the other.  One that is away is said on standard error, and left out; ConnectionLost comes out when all
  // are, or the only one.
  void each(const std::function<void(Shard&)>& ask);
  // The same until one says yes.
  bool any(const std::function<bool(Shard&)>& ask);

 private:
  std::vector<std::unique_ptr<Shard>> shards_;
};

// Says once on standard error that what is shown or done leaves this shard out.
void say_away(const std::string& shard, const std::string& why);

}  // namespace brood
