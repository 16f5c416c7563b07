#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/worker_death.hpp"

namespace brood {

// What the scoreboard of a dead supervisor of this host says of its workers.
struct WorkersLeft {
  std::vector<SlotSnapshot> living;  // they finish their jobs, settle and leave by themselves
  std::vector<WorkerDeath> dead;     // those that left something to recover
};

// Whether a dead supervisor of the same boot ran here: its scoreboard is here, and the heartbeat that Redis holds, if
// any, is one that it sent.  Else both may be of the machine that this one was cloned from, or of another clone.
bool has_left_files(const Identity& dead, const std::string& beat_token, const std::string& runtime_directory);

// Its path: in `runtime_directory`, else in its own, if its record tells one.  A path out of Redis is only ever opened,
// and what is opened must be a scoreboard of that very identity.
std::string scoreboard_of(const Identity& dead, const std::string& runtime_directory);

// For the recovery in one shard, which is given; nullopt: in any.  Throws std::runtime_error when there is none, or
// none that can be read, or another's.
WorkersLeft read_workers_left(const std::string& scoreboard, const std::string& identity,
                              std::optional<int> shard = std::nullopt);

// A dead supervisor's scoreboard, and the control socket beside it.
void remove_runtime_files(const std::string& scoreboard);

}  // namespace brood
