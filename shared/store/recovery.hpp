#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/scoreboard.hpp"
#include "shared/store/outcome.hpp"

namespace brood {

// A dead worker whose in-flight list must be emptied.
struct DeadWorker {
  std::string identity;
  int slot = 0;
  std::uint64_t incarnation = 0;
  // What the scoreboard says; nullopt when there is none to trust (another host, a lost or scribbled file).
  struct Record {
    std::uint64_t number = 0;
    std::vector<EntryState> entries;
  };
  std::optional<Record> record;
  bool ended_by_brood = false;  // a stop, a deploy, a recycle: running and failed entries go back uncharged
};

// What a charge makes of one payload: an Outcome of kind retry, move_to_dead, schedule or acknowledge (stored nowhere).
using ChargeJob = std::function<Outcome(const std::string& payload, const std::string& queue)>;
// What becomes of a payload recovered for the third time without a scoreboard: normally move_to_dead.
using OrphanJob = std::function<Outcome(const std::string& payload, const std::string& queue)>;

struct RecoveryResult {
  int acknowledged = 0, charged = 0, given_back = 0, orphaned = 0;
  bool somebody_was_first = false;  // no field: nothing done
};

// Empties the in-flight list of one dead worker by the recovery script, resending until the named queue is right.
// Throws ConnectionLost (unknown outcome: call again, it is idempotent) or UnexpectedReply.
RecoveryResult recover(Channel& redis, const DeadWorker& dead, const DeadLimits& limits, const ChargeJob& charge, const OrphanJob& orphan);

// Finds in-flight lists without a field by one SCAN and gives their jobs back to the heads of their queues.
// Returns how many jobs went back.
int give_back_lists_without_field(Channel& redis);

}  // namespace brood
