#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"

namespace brood {

// One Lua script: one operation, embedded from shared/store/scripts/<name>.lua.
struct Script {
  std::string_view name;
  std::string_view text;
  const std::string& sha() const;  // SHA-1 of the text, lower-case hex; computed once
};

// A script with its keys and arguments: what an operation sends.
struct ScriptCall {
  const Script* script;
  std::vector<std::string> keys, args;

  Command evalsha() const;
  Command eval() const;  // after NOSCRIPT: same keys, same arguments
};

namespace scripts {
extern const Script settle_and_fetch, register_incarnation, recover, give_back, move_due, work, recover_orphans;
}

}  // namespace brood
