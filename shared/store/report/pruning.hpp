#pragma once

#include <string>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Processes whose heartbeat has ended stay listed until some process or client takes them out, as Sidekiq's do.

// Whoever is told so may prune; nobody else for a minute.
Command may_prune();
bool read_may_prune(ReplyView reply);  // false too when Redis refuses

Command unlist(const std::vector<std::string>& identities);  // one at least

}  // namespace brood
