#pragma once

#include <cstdint>

#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Makes the wait_for() behind it cover all writes in Redis so far.  Since Redis 7.2 WAIT covers only what this
// connection has written (in 7.0: what all had written at its last command).  Without the mark, replicas that have gone
// would confirm at once a script that finds its work done already, a BLMOVE that another client's push has served, or a
// new connection.  A full Redis accepts it.
Command mark_for_wait();

// Waits in Redis until so many replicas have the earlier writes of this connection.
Command wait_for(const ReplicaWait& wait);

// How many replicas have them; 0 if Redis refused.
std::int64_t confirmed_by(ReplyView reply);

}  // namespace brood
