#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <brood/report.hpp>

#include "shared/redis/address.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// Finds jobs, and waits for their ends, in all shards: the shard of a job is unknown at first.  Its connections are its
// own, so that no push waits for them.  Its failures are thrown as RedisError.
class JobFinder {
 public:
  explicit JobFinder(const std::vector<RedisAddress>& shards);

  // Returns nullopt if no such job exists.
  std::optional<JobReport> find(std::string_view jid);
  // Returns nullopt if it has not ended in that time, or has left no report.
  std::optional<JobReport> wait(std::string_view jid, std::chrono::milliseconds timeout);

 private:
  struct Shard {
    std::string name;  // for messages
    Connection redis;
  };
  struct Found {
    JobReport report;
    Shard* shard;  // nullptr: it is nowhere
    bool is_alive;
  };
  Found look(std::string_view jid);
  std::optional<JobReport> kept_in(Shard& shard, std::string_view jid, std::chrono::milliseconds longest);

  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace brood
