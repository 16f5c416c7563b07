#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// Periodic jobs as stored in Redis: their names, the last tick of each, and what became of its ticks.  One script
// claims a tick and pushes its job, so no leader is needed.  Reading throws UnexpectedReply.

inline constexpr std::size_t most_periodic_history = 100;

// A supervisor announces that it serves a periodic job.
struct PeriodicService {
  std::string name;
  std::string rule;        // with its zone: another text is another rule, whose ticks begin now
  std::string definition;  // JSON: all that `brood periodic` shows and runs
  bool replaces = false;   // a rule that is served; else only one that no supervisor has served for three minutes
  std::string source = {}, place = {};  // where the rule is written: name_of(PeriodicSettings::Source), and a sentence
  std::string paused_at = {};           // where the configuration pauses it; empty: nowhere
  std::string stored = {};              // the rule as read from this Redis; empty: it is written elsewhere
};
ScriptCall serve_periodic(const PeriodicService& service);
struct ServedPeriodic {
  bool ours = false;   // false: another rule holds
  bool stale = false;  // because `stored` was replaced or removed since it was read
  std::chrono::sys_seconds last{};
  bool paused = false;
  WallTime now{};
};
ServedPeriodic read_served_periodic(ReplyView reply);
// Takes a periodic job off the list, because this configuration no longer has it.
Command leave_periodic(std::string_view name);

// One tick, or several of which all but the last are missed.
struct TickClaim {
  std::string name, rule = {};
  std::chrono::sys_seconds last{};                    // as known
  std::optional<std::chrono::sys_seconds> tick = {};  // nullopt: an operator wants the job now
  std::int64_t missed = 0;
  std::string entry = {};                          // of the history
  std::string payload = {}, jid = {}, queue = {};  // an empty payload: the tick passes
  std::optional<std::string> score = {};           // into the schedule
  // For jobs that must not overlap: what to do with this tick while the job before has not ended.
  enum class WhileHeld { no_matter, skip, wait } while_held = WhileHeld::no_matter;
  std::string skipped_entry = {};
};
ScriptCall claim_tick(const TickClaim& claim);
struct ClaimedTick {
  enum class Outcome { lost, claimed, paused, another_rule, early, skipped, waits } outcome{};
  std::chrono::sys_seconds last{};  // by now
};
ClaimedTick read_claimed_tick(ReplyView reply);

// The lock named in the payload of a job that must not overlap; see holdings.hpp.
std::string turn_of_periodic(std::string_view name);

ScriptCall pause_periodic(std::string_view name, bool pauses);
struct PausedPeriodic {
  std::optional<bool> was_so;  // it was paused, or resumed, before; nullopt: there is no job of that name
  std::string paused_at;       // where the configuration pauses it, whatever a command does; empty: nowhere
};
PausedPeriodic read_paused_periodic(ReplyView reply);

// ---- Rules that were added at run time.  They lie in one hash, by name; see periodic_rule.hpp.  Any shard may hold a
// rule.  It is served on the shard to which its name belongs.

struct AddedRule {
  std::string name, rule, rule_text, definition;
  std::string by;         // who adds it
  bool replaces = false;  // an earlier rule of that name
};
ScriptCall put_periodic_rule(const AddedRule& added);
struct PutRule {
  enum class Outcome { exists, added, replaced, too_many, is_elsewhere } outcome{};
  std::string place;  // is_elsewhere: of the configuration or library that has the name
};
PutRule read_put_rule(ReplyView reply);

// Removes the rule if its text still is `rule`.  An empty `rule` matches any text.
ScriptCall remove_periodic_rule(std::string_view name, std::string_view rule = {});
struct RemovedRule {
  bool removed = false;
  std::string place;  // if there was none, of the configuration or library that has the name
};
RemovedRule read_removed_rule(ReplyView reply);

ScriptCall ask_periodic_rules();
struct StoredRules {
  std::int64_t count = 0;                                  // in Redis
  std::vector<std::pair<std::string, std::string>> rules;  // the first of them by name; one that is too long is empty
};
StoredRules read_periodic_rules(ReplyView reply);

// The names of all, and the state of one.
Command ask_periodic_names();
std::vector<std::string> read_periodic_names(ReplyView reply);
struct KnownPeriodic {
  std::string rule, definition;
  std::optional<std::chrono::sys_seconds> last, seen;
  bool paused = false;
  std::int64_t claimed = 0, missed = 0, skipped = 0;
  std::string source = {}, place = {};  // where its rule is written; empty: an earlier release serves it
  std::string paused_at = {};           // where the configuration pauses it; empty: nowhere

  bool has_no_ticks() const { return paused || !paused_at.empty(); }
};
Command ask_periodic(std::string_view name);
std::optional<KnownPeriodic> read_periodic(ReplyView reply);
// The newest first.
Command ask_periodic_history(std::string_view name);

}  // namespace brood
