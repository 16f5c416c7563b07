#pragma once

#include <cstdint>
#include <string>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/script.hpp"

namespace brood {

// Announces an incarnation and the process that owns it.  May be sent again.
ScriptCall register_incarnation(const std::string& identity, const std::string& identity_record,
                                const std::string& field);

// The last settle of one incarnation, and the note of what it holds.  read_holdings() reads the note.
Command ask_incarnation(const std::string& identity, const std::string& field);
IncarnationHoldings read_holdings(ReplyView note);  // empty unless `note` is a string

// The fields of all incarnations that a process has announced and not left: read_name_list() reads the answer.
Command ask_incarnations(const std::string& identity);

// The key that holds them, for the log.
std::string name_of_incarnations(const std::string& identity);

// Returns the unbegun jobs of a living worker to the head of `queue`, all but the `keep` oldest entries.  Answers how
// many went back; 0 if the worker has settled since `number`.  A worker that keeps no job also lets go of what it
// holds.
ScriptCall give_back(const std::string& identity, const std::string& field, const std::string& queue,
                     std::uint64_t number, int keep, const IncarnationHoldings& held = {});

}  // namespace brood
