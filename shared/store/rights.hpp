#pragma once

#include <string>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// What a supervisor and its workers use beside the keys that all share.
struct OwnKeys {
  std::vector<std::string> queues = {};  // that are fetched from; "*" stands for all
  std::string identity = "~";            // the supervisor's
};

// Asks Redis whether our user may do all that brood does with jobs: a missing right would stop a script half-way, or
// let a supervisor start that can do nothing.  Changes nothing.
std::vector<Command> ask_rights(const OwnKeys& own);

// The error of ErrorKind::unauthorized that names what is missing, by its command and key.  Empty: nothing that we know
// of.
std::string missing_right(const std::vector<ReplyView>& answers);

}  // namespace brood
