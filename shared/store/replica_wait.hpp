#pragma once

#include <cstdint>

#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Waits in Redis until so many replicas have the earlier writes of this connection.
Command wait_for(const ReplicaWait& wait);

// How many replicas have them; 0 if Redis refused.
std::int64_t confirmed_by(ReplyView reply);

}  // namespace brood
