#pragma once

#include <string>

#include "shared/base/paths.hpp"

namespace brood {

// Which shard the job of this process came from: the variable BROOD_REDIS_SHARD, a name.  A worker sets it for its jobs
// and the programs that they start; clients in them push there as long as it answers.
void tell_shard(const std::string& name);  // empty: takes the variable away

// Empty: nobody has said.
std::string told_shard(const Environment& environment = process_environment);

}  // namespace brood
