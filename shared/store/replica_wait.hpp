#pragma once

#include <cstdint>

#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Waits in Redis until so many replicas have what was written before on the same connection.
Command wait_for(const ReplicaWait& wait);

// How many have it; 0 too for a refusal.
std::int64_t confirmed_by(ReplyView reply);

}  // namespace brood
