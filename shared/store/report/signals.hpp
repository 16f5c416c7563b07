#pragma once

#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Leaves a signal, or an order of brood's own, for a process, which take_signals() takes; after a minute it is
// forgotten, as Sidekiq's are.  To be sent as a pipeline or a transaction; the first reply says whether it was left.
std::vector<Command> leave_signal(std::string_view identity, std::string_view signal);
bool read_was_left(ReplyView first_reply);

}  // namespace brood
