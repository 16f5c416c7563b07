#pragma once

#include <string>

#include "shared/config/config.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/workers/places/process_table.hpp"

namespace brood {

// In a rolling restart the old and the new worker have a slot each, and some dead ones' wait for their recovery.
inline int slots_for(const Config& config) { return 2 * config.concurrency() + 16; }

// The slots of one supervisor's workers: their records in the scoreboard, which the workers write too, and what the
// supervisor alone knows of who has them.  All that deals with workers shares it.
class WorkerSlots {
 public:
  struct Setup {
    std::string runtime_directory, identity;
    std::string instance = {};  // what the operator calls this supervisor
    bool left = false;          // a program before this one, in the same process, has left its scoreboard
  };
  WorkerSlots(const Setup& setup, const Config& config);

  // The scoreboard that was left could be read.  Otherwise all counters begin anew.
  bool adopted() const { return adopted_; }

  // As many as workers of this configuration may need.  Throws std::system_error, and then nothing has changed.
  void make_room(const Config& config);

  // Workers that run a job.
  int busy() const;

  // Notes whether every place that is to be kept has a worker that is ready, now; once they had, they were.
  void note_readiness() { were_ready_ |= table.ready() >= table.kept(); }
  void note_adopted_readiness() { were_ready_ = table.ready() > 0; }
  bool were_ready() const { return were_ready_; }

 private:
  static Scoreboard take_scoreboard(const Setup& setup, const Config& config, bool& adopted);

  bool adopted_ = false;  // first: said by what makes the scoreboard
  bool were_ready_ = false;

 public:
  Scoreboard board;
  ProcessTable table;
};

}  // namespace brood
