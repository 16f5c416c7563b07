#pragma once

#include <string>

#include "shared/config/config.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/workers/places/process_table.hpp"

namespace brood {

// In a rolling restart the old and the new worker have a slot each.  A few more slots are for dead workers whose
// recovery is not done.
inline constexpr int spare_slots = 16;
inline int slots_for(const Config& config) { return 2 * config.concurrency() + spare_slots; }

// The slots of one supervisor's workers: their records in the scoreboard, which workers write too, and the supervisor's
// own table of the worker in each slot.  All parts that deal with workers share it.
class WorkerSlots {
 public:
  struct Setup {
    std::string runtime_directory, identity;
    std::string instance = {};  // the operator's name for this supervisor
    bool left = false;          // whether the previous program in this process has left its scoreboard
  };
  WorkerSlots(const Setup& setup, const Config& config);

  // Whether the scoreboard of the previous program could be read.  If not, all counters begin anew.
  bool adopted() const { return adopted_; }

  // Makes as many slots as this configuration may need beside the present ones.  Throws std::system_error, and then
  // nothing has changed.
  void make_room(const Config& config);

  // Whether the slot's worker runs a job.
  bool is_busy(int slot) const { return table.is_living(slot) && board.slot(slot).current.load() >= 0; }
  int busy() const;

  // Notes whether every kept place has had a ready worker.  Once true, were_ready() stays true.
  void note_readiness() { were_ready_ |= table.all_were_ready(); }
  void note_adopted_readiness() { were_ready_ = table.ready() > 0; }
  bool were_ready() const { return were_ready_; }

 private:
  static Scoreboard take_scoreboard(const Setup& setup, const Config& config, bool& adopted);

  bool adopted_ = false;  // declared before `board`: take_scoreboard() sets it
  bool were_ready_ = false;

 public:
  Scoreboard board;
  ProcessTable table;
};

}  // namespace brood
