#pragma once

#include <memory>
#include <optional>
#include <string>

#include "shared/base/identity.hpp"
#include "supervisor/phase.hpp"
#include "supervisor/pressure/pressure_relief.hpp"
#include "supervisor/restart/rolling_restart.hpp"
#include "supervisor/shards/shard_moves.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/stack_log.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_pool.hpp"
#include "supervisor/workers/worker_slots.hpp"
#include "supervisor/workers/worker_succession.hpp"

namespace brood {

// The workers of a supervisor, and the parts that decide their number and their orders.
class Fleet {
 public:
  struct Setup {
    EventLoop& loop;
    Children& children;
    const Identity& identity;
    std::shared_ptr<const Generation> first;  // its number is 1
    ProgramOf program_of;
    ConfigSource config_source;
    const Shards& shards;  // may be constructed after the fleet
    std::string runtime_directory, instance;
    const std::optional<Handover>& left;  // by the previous program in this process
  };
  explicit Fleet(Setup setup);

  WorkerSlots slots;
  Generations generations;
  ShardMoves moves;
  WorkerOrders orders;
  WorkerSuccession succession;
  PressureRelief pressure;
  WorkerPool pool;
  RollingRestart restart;
  StackLog stack_log;

  // Brings all workers into this phase.
  void enter(Phase phase);

  // Replaces the previous program's workers as soon as the supervisor runs.
  void owe_a_roll() { roll_is_owed_ = true; }
  bool owes_a_roll() const { return roll_is_owed_; }
  void replace_workers_of_before();
  // Called when a restart has begun or ended.
  void note_restart(RollingRestart::News news);
  // Ends the restart under way.  If it was replacing the previous program's workers, that is owed again.
  void abandon_restart(const std::string& why);

 private:
  bool roll_is_owed_ = false;
  bool owed_roll_comes_ = false;  // restart() was called for the owed roll, which has not begun yet
  bool owed_roll_is_on_ = false;
};

}  // namespace brood
