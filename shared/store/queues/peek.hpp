#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Waits until a job lies in the queue, or for that long; moves nothing, also when a worker waits on the same queue
// meanwhile.
Command peek(std::string_view queue, std::chrono::seconds longest);

// The next job of the queue; empty: none came.  Throws UnexpectedReply.
std::string read_peek(ReplyView reply);

}  // namespace brood
