#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/redis/reply.hpp"
#include "shared/redis/script_call.hpp"

namespace brood {

// One command at a time restarts a fleet.  It holds a lease in Redis, which ends by itself if the command dies.
struct FleetLease {
  std::string id;  // of one run of the command
  std::string by;  // who runs the command: a name that they choose
  WallTime since{};

  bool operator==(const FleetLease&) const = default;
};

// Takes or keeps the lease for `time` from now on; with 0 ms gives it up.
ScriptCall hold_fleet_lease(const FleetLease& lease, std::chrono::milliseconds time);

// Empty if the caller holds the lease; else a sentence that names its holder.  Throws UnexpectedReply.
std::string read_other_holder(ReplyView reply);

}  // namespace brood
