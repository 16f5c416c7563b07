#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/worker_death.hpp"

namespace brood {

// The workers of a dead supervisor of this host, by its scoreboard.
struct WorkersLeft {
  std::vector<SlotSnapshot> living;  // they finish their jobs, settle and leave by themselves
  std::vector<WorkerDeath> dead;     // those with something to recover
};

// Whether a dead supervisor of the same boot ran here: its scoreboard is here, and it sent the heartbeat that Redis
// holds, if any.  Otherwise it may have run on the machine from which this one was cloned, or on another clone.
bool has_left_files(const Identity& dead, const std::string& beat_token, const std::string& runtime_directory);

// The path of its scoreboard: in `runtime_directory`, else in the directory that its record names, if any.  A path from
// Redis is only opened, and must lead to a scoreboard of that very identity.
std::string scoreboard_of(const Identity& dead, const std::string& runtime_directory);

// Whether it is proven that `dead` started this living process.
bool is_proven_worker_of(const Identity& dead, pid_t pid);

// The workers to recover in the given shard; nullopt: in any.  Throws std::runtime_error if the scoreboard is missing,
// not readable or another's.  A job may have written any pid into the scoreboard: a process whose mark shows that
// `dead` did not start it (shared/base/job_mark.hpp) does not count as a living worker.
WorkersLeft read_workers_left(const std::string& scoreboard, const Identity& dead,
                              std::optional<int> shard = std::nullopt);

// Removes a dead supervisor's files.  Returns false if there are too many for one call: the scoreboard, which is the
// last, is then still there.
bool remove_runtime_files(const std::string& scoreboard);

}  // namespace brood
