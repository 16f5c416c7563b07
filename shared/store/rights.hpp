#pragma once

#include <string>
#include <vector>

#include "shared/redis/command.hpp"

namespace brood {

// Asks a Redis whether its user may do all that brood's scripts do: an access list that lacks one right would stop a
// script in its midst.  Answered by an error of ErrorKind::unauthorized that names each missing right, by its command
// and key; by anything else when nothing is known to be missing.  Changes nothing.  Queues that are named are tried
// too.
Command probe_of_rights(const std::vector<std::string>& queues = {});

}  // namespace brood
