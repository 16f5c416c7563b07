#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {

// A limit of jobs or a cap of queues, with its present use.
struct ListedLimit {
  std::string name;
  std::string kind;         // "cap", or the limiter's kind
  std::int64_t amount = 0;  // at once, or in the interval
  std::int64_t held = 0;
  std::chrono::milliseconds interval{0};
  struct Counts {
    std::int64_t taken = 0, waited = 0, waited_ms = 0, over = 0, reclaimed = 0;
  };
  std::optional<Counts> counts = {};  // of a limiter
  std::vector<std::string> holders = {};
  std::string shard = {};  // where it is kept; empty if there is only one

  std::string limit_text() const;  // "4 at once", "100 in 60s"
  std::string json(bool with_holders = false) const;
};

// The caps, then the limits, by name; at most `most` of each.  Throws ConnectionLost or UnexpectedReply.
std::vector<ListedLimit> list_limits_of(Connection& redis, std::size_t most = std::numeric_limits<std::size_t>::max());
std::vector<ListedLimit> list_limits_of(ShardConnections::Shard& shard,
                                        std::size_t most = std::numeric_limits<std::size_t>::max());
// The limits and caps of that name: one of each may have it.
std::vector<ListedLimit> find_limits(ShardConnections::Shard& shard, const std::string& name);

// Clears the use of the interval and the counts.  A cap is then listed again only when a worker fetches under it.
// Returns how many slots running jobs still hold.
std::int64_t reset_limits(ShardConnections::Shard& shard, const std::string& name);

}  // namespace brood
