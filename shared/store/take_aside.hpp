#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// A queue or set that is to be cleared is moved aside until all of its jobs have let go of what they hold.  These are
// its names there, for the other functions of this folder.  No queue that is pushed to can have the name of
// queue_aside().
std::string queue_aside(std::string_view queue);
std::string set_aside_for_clearing(std::string_view set_key);

ScriptCall take_queue_aside(std::string_view queue);
ScriptCall take_set_aside(std::string_view set_key);
struct TakenAside {
  bool taken = false;    // false: one that was taken before is still there
  std::size_t jobs = 0;  // that lie aside
};
// Throws UnexpectedReply.
TakenAside read_taken_aside(ReplyView reply);

}  // namespace brood
