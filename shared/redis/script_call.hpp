#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// One Lua script: one operation, embedded from shared/store's <name>.lua.
struct Script {
  std::string_view name;
  std::string_view text;
  std::string_view sha;          // SHA-1 of the text, lower-case hex, computed when brood is built
  std::string_view guarded_sha;  // SHA-1 of the guard's prologue and the text: see guard_key
};

// A script with its keys and arguments, as an operation of the store sends it.
struct ScriptCall {
  const Script* script = nullptr;
  std::vector<RedisKey> keys;
  std::vector<std::string> args;

  // Names the script by its SHA.  If Redis does not know it, the connection sends it once more by its text.
  Command command() const&;
  Command command() &&;
};

// The same command with the text of its script in place of the SHA.  Keys and arguments are the same, so if both
// commands arrive, the script recognises the second by its number.
Command by_text(Command by_sha);

// Whether `reply` shows that Redis does not know the script of this command, which named it by its SHA.
bool is_unknown_script(const Command& command, ReplyView reply);

// Returns the indices of those commands, of several sent together, that must be sent again with their scripts' texts:
// calls of unknown scripts, and each WAIT after one of them.
std::vector<std::size_t> places_of_unknown_scripts(std::span<const Command> commands, std::span<const Reply> replies);

}  // namespace brood
