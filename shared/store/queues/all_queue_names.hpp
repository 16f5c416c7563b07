#pragma once

#include <set>
#include <string>

#include "shared/redis/connection.hpp"

namespace brood {

// The names of all queues as Redis has them, with a name for each tenant, read in pages.  Throws ConnectionLost or
// UnexpectedReply.
std::set<std::string> all_queue_names(Channel& redis);

}  // namespace brood
