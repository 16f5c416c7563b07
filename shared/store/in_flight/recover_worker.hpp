#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/script.hpp"
#include "shared/store/worker_field.hpp"

namespace brood {

// A dead worker whose in-flight list must be emptied.
struct DeadWorker {
  std::string identity;
  int slot = 0;
  std::uint64_t incarnation = 0;
  // From the scoreboard; nullopt if there is none to trust (another host, a lost or damaged file).
  struct Record {
    std::uint64_t number = 0;
    std::vector<EntryState> entries;
    // The queue of the batch and the jid of the entry begun last: they identify the list if the field is lost.  Empty:
    // unknown.
    std::string queue = {}, jid = {};
    // For the entries that are judged, and for those that succeeded and left a result.
    std::vector<std::optional<Outcome>> outcomes = {};
  };
  std::optional<Record> record;
  bool ended_by_brood = false;  // a stop, a deploy, a recycle: running and failed entries go back uncharged
  // Its supervisor was declared dead because its heartbeat was missing: recover only if it is still missing.
  bool only_while_silent = false;
  // According to the record it served another shard: without a field here, it has nothing here.
  bool served_elsewhere = false;
  // Charge a single job that it had fetched and not begun: that job may have been too large to be read.
  bool ran_out_of_memory = false;
};

// Reads the record from a dead worker's last words.
DeadWorker::Record record_of(const SlotSnapshot& last_words);

// The outcome for a payload that is charged: normally retry or move_to_dead, or acknowledge when it is stored nowhere.
using ChargeJob = std::function<Outcome(const std::string& payload, const std::string& queue)>;
// The outcome for a payload recovered for the third time without a scoreboard: normally move_to_dead.
using OrphanJob = std::function<Outcome(const std::string& payload, const std::string& queue)>;

struct RecoveryResult {
  int acknowledged = 0, charged = 0, given_back = 0, orphaned = 0;
  bool somebody_was_first = false;  // another recovery: there is no field, and its lists are empty; nothing done
  bool owner_lives = false;         // its heartbeat is there again: nothing done
};

// Empties the in-flight list of one dead worker by the recovery script, resending until the named queue is right.  If
// the field is lost (flushed, evicted, deleted) and the scoreboard is known, its lists are searched for: the
// scoreboard's verdicts apply if the entry begun last lies where it should, and everything else goes back.  Throws
// ConnectionLost (unknown outcome: call again, it is idempotent) or UnexpectedReply.
RecoveryResult recover(Channel& redis, const DeadWorker& dead, const DeadLimits& limits, const ChargeJob& charge,
                       const OrphanJob& orphan);

// One sending of the recovery script, for the supervisor, which does not wait but reads the answer later.
struct RecoveryAttempt {
  std::string queue;  // presumed queue of the list; if it is wrong, the answer has the right one
  // Verdicts on the oldest entries, in order.  If `entry` is given and the list holds another one there, that one and
  // everything behind it goes back uncharged.
  struct VerdictOnEntry {
    std::optional<std::string> entry;
    Outcome outcome;
    std::string holder = {};  // the payload, where the job holds something
  };
  std::vector<VerdictOnEntry> verdicts;
  std::vector<VerdictOnEntry> orphans;  // outcomes for payloads that come back for the third time
  IncarnationHoldings held = {};        // by the incarnation, according to its note
};

struct RecoveryAnswer {
  enum class Kind {
    done,         // also if another recovery was first, or the owner lives: see result
    other_queue,  // nothing was written: send again with `queue`
    holds,        // nothing was written: send again with `note`
    orphans,      // nothing was written: send again with an outcome for each of `payloads`
  } kind = Kind::done;
  RecoveryResult result;
  std::string queue, note;
  std::vector<std::string> payloads;
};

ScriptCall recovery_call(const DeadWorker& dead, const RecoveryAttempt& attempt, const DeadLimits& limits,
                         WallTime now);
RecoveryAnswer read_recovery(ReplyView reply);  // throws UnexpectedReply

// A field of the in-flight hash: "<number> <queue>".
struct LastSettle {
  std::uint64_t number = 0;
  std::string queue;  // empty: none
};
std::optional<LastSettle> parse_last_settle(std::string_view field_value);

// Gives the jobs of one in-flight list back to the head of its queue, unless a field names it.  Its owner must be dead:
// a living one may have lost its field, and perform the job.  Returns how many; throws as above.
int give_back_list_without_field(Channel& redis, const std::string& key);

// Gives back all lists of one incarnation, found by a SCAN, as give_back_list_without_field() does.
int give_back_lists_of(Channel& redis, const std::string& identity, const std::string& field);

// A supervisor's own workers: the list of a living one is never a stray, even without its field.
struct OwnIncarnations {
  std::string identity;
  std::set<std::string> living;     // "<slot>.<incarnation>"
  std::uint64_t last_assigned = 0;  // a worker with a later one was spawned since, and lives
  bool lives(const std::string& field) const;
};

// Whether the owner of an in-flight list lives, or may.
using OwnerLives = std::function<bool(const InFlightList&)>;

// Finds in-flight lists without a field by one SCAN, and gives the jobs back to the heads of their queues if the owner
// is dead.  Returns how many jobs went back.  Throws ConnectionLost or UnexpectedReply.
int give_back_lists_without_field(Channel& redis, const OwnerLives& owner_lives);

}  // namespace brood
