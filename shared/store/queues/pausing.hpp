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

// One name in `brood:paused_classes`: no worker of brood begins a job of that class.  Jobs of it that are fetched wait
// beside those in quarantine; see quarantine.hpp.  Ruby's Sidekiq knows nothing of it.  The answers are 1, or 0 where
// nothing has changed.
Command pause_class(std::string_view job_class);
Command unpause_class(std::string_view job_class);

}  // namespace brood
