#pragma once

#include <string_view>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// One name in the set `paused`: nobody fetches from that queue.
Command ask_is_paused(std::string_view queue);
bool read_is_paused(ReplyView reply);
Command pause_queue(std::string_view queue);
Command unpause_queue(std::string_view queue);

}  // namespace brood
