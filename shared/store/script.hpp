#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/connection.hpp"

namespace brood {

// One Lua script: one operation, embedded from <name>.lua, beside who calls it.
struct Script {
  std::string_view name;
  std::string_view text;
  std::string_view sha;          // SHA-1 of the text, lower-case hex, computed when brood is built
  std::string_view guarded_sha;  // likewise, of the guard's prologue and the text: see guard_key
};

// A script with its keys and arguments: what an operation sends.
struct ScriptCall {
  const Script* script = nullptr;
  std::vector<RedisKey> keys;
  std::vector<std::string> args;

  Command evalsha() const&;
  Command evalsha() &&;
  Command eval() const;  // after NOSCRIPT: same keys, same arguments
};

// Turns a command that evalsha() made into the one that eval() makes.
void send_text_instead(Command& by_sha, const Script& script);

// Sends the script by its SHA and, where Redis does not know it, once by its text.  Error replies are returned.
// Throws ConnectionLost.
Reply send(Channel& redis, const ScriptCall& call);

namespace scripts {
std::vector<const Script*> all();
extern const Script settle_and_fetch, settle_without_field, fetch_after_wait, register_incarnation, recover, give_back,
    move_due, work, recover_orphans, move_due_to_dead, heartbeat, count, count_runs, set_page, remove_entries,
    kill_entries, reschedule_entry, queue_page, remove_jobs, push_once, list_process, forget_process;
}  // namespace scripts

}  // namespace brood
