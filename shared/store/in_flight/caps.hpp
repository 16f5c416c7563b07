#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shared/config/cap_settings.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// Appends to a settle_and_fetch what its script must know about the caps of the queues that it asks: see
// pieces/take_caps.lua.  `caps` may be null.
void add_caps(ScriptCall& settle_and_fetch, const std::vector<CapSettings>* caps,
              std::span<const std::string> queues_asked);

// How many jobs of capped queues may be fetched now, for each of these queues.
ScriptCall free_places(const std::vector<std::string>& queues, const std::vector<CapSettings>& caps);
std::vector<std::int64_t> read_free_places(ReplyView reply);  // throws UnexpectedReply

// The caps that workers have fetched under, by name, each with its maximum.
Command ask_caps();
std::map<std::string, std::int64_t> read_caps(ReplyView reply);
// The workers that hold a place of a cap: "<identity>/<slot>.<incarnation>".
ScriptCall show_cap(const std::string& name);
std::vector<std::string> read_cap_holders(ReplyView reply);
// Takes the cap off the list, until a worker fetches under it again.
Command forget_cap(const std::string& name);

}  // namespace brood
