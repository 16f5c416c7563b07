#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// Periodic jobs as Redis knows them: which there are, the last tick of each, and what became of its ticks.  A tick is
// claimed and its job pushed by one script, so that nobody has to lead.  Reading throws UnexpectedReply.

inline constexpr std::size_t most_periodic_history = 100;

// A supervisor says that it serves one.
struct PeriodicService {
  std::string name;
  std::string rule;        // with its zone: another text is another rule, whose ticks begin now
  std::string definition;  // JSON: all that `brood periodic` shows and runs
  bool replaces = false;   // another rule, whoever serves that; else only one that nobody has served for three minutes
};
ScriptCall serve_periodic(const PeriodicService& service);
struct ServedPeriodic {
  bool ours = false;  // false: another rule holds
  std::chrono::sys_seconds last{};
  bool paused = false;
  WallTime now{};
};
ServedPeriodic read_served_periodic(ReplyView reply);
// No supervisor of ours serves it any more.
Command leave_periodic(std::string_view name);

// One tick, or several of which all but the last are missed.
struct TickClaim {
  std::string name, rule = {};
  std::chrono::sys_seconds last{};                    // as known
  std::optional<std::chrono::sys_seconds> tick = {};  // nullopt: somebody wants the job now
  std::int64_t missed = 0;
  std::string entry = {};                          // of the history
  std::string payload = {}, jid = {}, queue = {};  // an empty payload: the tick passes
  std::optional<std::string> score = {};           // into the schedule
  // The jobs must not overlap: what becomes of this tick while the one before has not ended.
  enum class WhileHeld { no_matter, skip, wait } while_held = WhileHeld::no_matter;
  std::string skipped_entry = {};
};
ScriptCall claim_tick(const TickClaim& claim);
struct ClaimedTick {
  enum class Outcome { lost, claimed, paused, another_rule, early, skipped, waits } outcome{};
  std::chrono::sys_seconds last{};  // by now
};
ClaimedTick read_claimed_tick(ReplyView reply);

// What the payload of a job that must not overlap says that it holds; see holdings.hpp.
std::string turn_of_periodic(std::string_view name);

// 1; 0: it was so already; -1: there is none of that name.
ScriptCall pause_periodic(std::string_view name, bool pauses);

// The names of all, and what is known of one.
Command ask_periodic_names();
std::vector<std::string> read_periodic_names(ReplyView reply);
struct KnownPeriodic {
  std::string rule, definition;
  std::optional<std::chrono::sys_seconds> last, seen;
  bool paused = false;
  std::int64_t claimed = 0, missed = 0, skipped = 0;
};
Command ask_periodic(std::string_view name);
std::optional<KnownPeriodic> read_periodic(ReplyView reply);
// The newest first.
Command ask_periodic_history(std::string_view name);

}  // namespace brood
