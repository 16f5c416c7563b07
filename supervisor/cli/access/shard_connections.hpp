#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/redis_access.hpp"

namespace brood {

// A command's connections to its shards.
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

  // Calls `ask` with one shard after the other.  Leaves out a shard that is away and reports it, by default on standard
  // error.  Throws ConnectionLost if all are away.
  void each(const std::function<void(Shard&)>& ask);
  // The same, until `ask` returns true for one.
  bool any(const std::function<bool(Shard&)>& ask);
  using Away = std::function<void(const std::string& shard, const std::string& why)>;
  void on_away(Away away) { away_ = std::move(away); }

 private:
  std::vector<std::unique_ptr<Shard>> shards_;
  Away away_;
};

// Reports on standard error, once for each shard, that it is away and left out.
void say_away(const std::string& shard, const std::string& why);

}  // namespace brood
