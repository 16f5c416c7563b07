#pragma once

#include <string>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// The keys that a supervisor and its workers use besides the common ones.
struct OwnKeys {
  std::vector<std::string> queues = {};  // that it fetches from; "*" stands for all
  std::string identity = "~";            // the supervisor's
};

// Asks Redis whether our user may do all that brood does with jobs.  Otherwise a missing right would stop a script
// half-way, or let a supervisor start that cannot work.  Changes nothing.
std::vector<Command> ask_rights(const OwnKeys& own);

// An error of ErrorKind::unauthorized that names the missing rights, by command and key.  Empty if none is known to be
// missing.
std::string missing_right(const std::vector<ReplyView>& answers);

}  // namespace brood
