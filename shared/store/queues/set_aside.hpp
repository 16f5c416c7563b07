#pragma once

#include <cstdint>
#include <string>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// The queues beside others in which jobs of capped classes have waited: "<queue>@<cap>".  Read with read_name_list().
Command ask_set_aside();

// Gives back to `home` what waits in one of them, so many jobs at most; answers how many, and with fewer all are back.
ScriptCall return_set_aside(const std::string& aside, const std::string& home, std::int64_t most);

}  // namespace brood
