#pragma once

#include <functional>

#include "shared/redis/connection.hpp"

namespace brood {

// How a child of recovery speaks with Redis, and how it ends.

Connection connection_for_recovery(const RedisAddress& redis);

// Does the work and returns the child's exit status: 0; 75 when Redis went away or refused something, since a recovery
// can be repeated without harm; 78 when a library cannot be used.
int end_of_recovery(const std::function<void()>& work);

}  // namespace brood
