#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "worker/job/limit_keeper.hpp"

namespace brood {

// Where limits lie: all of one name in one shard, which its name tells, whichever shards the jobs come from, and none
// in a shard that is drained.  What lies in the shard that the worker serves is asked over its own connection, the rest
// over connections that are made when they are needed.
class LimitShards {
 public:
  LimitShards(const std::vector<RedisAddress>& shards, const std::size_t& served, Connection& own,
              std::string client_name);

  LimitKeeper::Setup::Place place_of(const std::string& limit);
  Channel* shard(const std::string& name);

 private:
  Channel* at(std::size_t shard);

  const std::vector<RedisAddress>& shards_;
  const std::size_t& served_;
  Connection& own_;
  const std::string client_name_;
  std::vector<std::string> names_;
  std::vector<bool> left_out_;
  std::map<std::size_t, Connection> others_;
};

}  // namespace brood
