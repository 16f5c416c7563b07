#pragma once

#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "supervisor/upgrade/handover_record.hpp"

namespace brood {

// Reads the previous program's handover.  Throws BadHandover if a later version has written it.
Handover take_handover(int descriptor);

// The workers' jobs are in the Redis that the previous program used.  Throws ConfigError if these are other shards.
void require_same_shards(const Handover& handover, const std::vector<RedisAddress>& shards);

// Runs in a child of the program that would hand over: tries everything that can fail in a takeover, and changes
// nothing. If nothing fails, signs the copy of the handover behind the descriptor `copy`.  Returns the exit status.
int rehearse(const Config& config, const std::vector<RedisAddress>& shards, const Handover& handover, int copy);

}  // namespace brood
