#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "worker/job/limit_keeper.hpp"

namespace brood {

// Finds the shards of limits.  A limit lies in the shard that its name is hashed to, whichever shards its jobs come
// from, and never in a drained one.  The shard that the worker serves is asked over the worker's connection, the others
// over connections that are made when they are needed.
class LimitShards : public LimitPlaces {
 public:
  LimitShards(const std::vector<RedisAddress>& shards, const std::size_t& served, Connection& own,
              std::string client_name);

  Place place_of(const std::string& limit) override;
  Channel* shard(const std::string& name) override;

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
