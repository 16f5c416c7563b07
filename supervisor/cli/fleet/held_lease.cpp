#include "supervisor/cli/fleet/held_lease.hpp"

#include <exception>

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_of_lease = 30s;

}  // namespace

HeldLease::~HeldLease() {
  try {
    shards_.each([&](ShardConnections::Shard& shard) { shard.redis.run(hold_fleet_lease(lease_, 0ms)); });
  } catch (const std::exception&) {  // the lease expires by itself
  }
}

std::string HeldLease::hold() try {
  std::string other;
  shards_.each([&](ShardConnections::Shard& shard) {
    if (other.empty()) other = read_other_holder(shard.redis.run(hold_fleet_lease(lease_, time_of_lease)).view());
  });
  return other;
} catch (const ConnectionLost&) {
  return "";
}

}  // namespace brood
