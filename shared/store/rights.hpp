#pragma once

#include <string>
#include <vector>

#include "shared/redis/command.hpp"

namespace brood {

// Asks Redis whether our user may do all that brood's scripts do: a missing right would stop a script half-way.  The
// reply is an error of ErrorKind::unauthorized that names each missing right, by its command and key; any other reply
// means that none is known to be missing.  Changes nothing.  The given queues are tried too.
Command probe_of_rights(const std::vector<std::string>& queues = {});

}  // namespace brood
