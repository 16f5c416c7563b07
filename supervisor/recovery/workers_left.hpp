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
// any, is one that it sent.  Otherwise it may have run on the machine from which this one was cloned, or on another
// clone.
bool has_left_files(const Identity& dead, const std::string& beat_token, const std::string& runtime_directory);

// The path of its scoreboard: in `runtime_directory`, else in the directory that its record names, if any.  A path that
// comes from Redis is only ever opened, and must lead to a scoreboard of that very identity.
std::string scoreboard_of(const Identity& dead, const std::string& runtime_directory);

// Whether this process, which lives, was started by `dead`, beyond doubt.
bool is_proven_worker_of(const Identity& dead, pid_t pid);

// For the recovery in one shard, which is given; nullopt: in any.  Throws std::runtime_error when there is none, or
// none that can be read, or another's.  A job may have written any pid into the scoreboard: a process whose mark shows
// that `dead` did not start it (shared/base/job_mark.hpp) is not taken for a living worker.
WorkersLeft read_workers_left(const std::string& scoreboard, const Identity& dead,
                              std::optional<int> shard = std::nullopt);

// A dead supervisor's scoreboard, and the control socket beside it.
void remove_runtime_files(const std::string& scoreboard);

}  // namespace brood
