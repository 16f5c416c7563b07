#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/connection.hpp"
#include "shared/scoreboard/worker_setup.hpp"
#include "worker/orders/supervisor_orders.hpp"
#include "worker/shards/limit_shards.hpp"

namespace brood {

// The Redis that a worker serves, one of the shards at a time.  The supervisor assigns it with each incarnation.
class ServedShard {
 public:
  ServedShard(const Config& config, const WorkerSetup& setup, const std::vector<RedisAddress>& shards,
              SupervisorOrders& orders);
  ServedShard(const ServedShard&) = delete;
  ServedShard& operator=(const ServedShard&) = delete;

  const RedisAddress& address() const { return shards_.at(number_); }
  const std::string& name() const { return address().shard; }
  Connection& redis() { return redis_; }
  LimitShards& limits() { return limits_; }
  const std::vector<CapSettings>& caps() const { return caps_[number_]; }  // this shard's share of the capsule's

  bool is_one_of_several() const { return shards_.size() > 1; }
  bool is_wanted_elsewhere() const;

  // Sets the environment variable by which the code of jobs knows the shard, if jobs share our Redis.
  void tell_jobs() const;
  // Call it when a new incarnation has come: goes to its shard.  Returns false if that is the same.
  bool follow_incarnation();

 private:
  std::size_t assigned() const;
  void serve();

  const Config& config_;
  const WorkerSetup& setup_;
  const std::vector<RedisAddress>& shards_;
  SupervisorOrders& orders_;
  const std::vector<std::vector<CapSettings>> caps_;  // the share of each shard
  std::size_t number_;                                // of the one that is served
  Connection redis_;
  LimitShards limits_;
};

}  // namespace brood
