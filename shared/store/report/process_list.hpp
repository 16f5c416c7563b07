#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// The identities of all processes, Ruby's too, whose heartbeats may have ended: read_name_list() reads the answer.
Command ask_processes();

// Those of brood's processes that own something in flight, brood:processes; read likewise.  See owners.hpp.
Command ask_owners();

// Whether this one is among them; answers 1 or 0.
Command ask_is_process(std::string_view identity);

// The leader of Sidekiq Enterprise, one of them; nil: there is none.
Command ask_leader();

// How many they are.  Reading throws UnexpectedReply.
Command ask_process_count();
std::int64_t read_process_count(ReplyView reply);

}  // namespace brood
