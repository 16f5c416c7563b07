#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "supervisor/process/children.hpp"
#include "supervisor/workers/end/memory_cgroup.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/template/worker_templates.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_slots.hpp"
#include "supervisor/workers/worker_turns.hpp"

namespace brood {

// Both the worker and its supervisor say it: should the supervisor be killed right after the fork, its successor must
// not take the worker for dead.  The pid last: who sees it may read the rest.
void say_who_runs(SlotRecord& record, pid_t pid);

// Brings workers into being, in vacant places: by a fork of the supervisor, or of the generation's template.
class WorkerSpawner {
 public:
  WorkerSpawner(EventLoop& loop, Children& children, WorkerSlots& slots, const Generations& generations,
                WorkerOrders& orders, WorkerShards& shards, const Config& config);

  // Fills those that have rested enough.  A refill waits for nobody's recovery, unless so many wait for theirs that no
  // slot is free.  `others_left`: workers that the table does not know run still.
  void fill_vacant_places(bool others_left);
  // A place is not to be filled for so long.
  void let_rest(int place, std::chrono::milliseconds rest, SteadyTime now);
  // For the next program in this process, and what another has left.
  void hand_over(Handover& handover) const { templates_.hand_over(handover.templates); }
  void adopt(const Handover& left);
  // Nobody is to come any more, not even who is on the way; templates end.
  void stop();
  // Such that have not come yet; until then a child that nobody knows may be one of them.
  int asked() const { return static_cast<int>(asked_.size()); }

  // Of the workers, where brood has one.
  std::optional<MemoryCgroup>& memory_cgroup() { return memory_cgroup_; }

 private:
  struct Newborn {
    int place;
    std::uint32_t generation;
    ControlPipe control;
    OutputPipe output;
  };
  void spawn(int place, int slot, SteadyTime now);
  void prepare(int slot, const ProcessTable::Place& place, SteadyTime now);
  void tell_before_it_begins(int slot, const ProcessTable::Place& place, SteadyTime now);
  void settle_in(int slot, pid_t pid, Newborn newborn, SteadyTime now);
  void forked(const ForkAnswer& answer);
  void note_failed(int place, int slot, const std::string& reason, SteadyTime now);
  void look_after_templates();
  WorkerTemplate::Setup template_setup(const Generation& generation) const;
  int run_worker(const Generation& generation, const ForkRequest& request, const WorkerDescriptors& descriptors) const;

  const pid_t supervisor_ = getpid();
  WorkerSlots& slots_;
  const Generations& generations_;
  WorkerOrders& orders_;
  WorkerShards& shards_;
  WorkerTurns turns_;
  std::optional<MemoryCgroup> memory_cgroup_;
  WorkerTemplates templates_;
  std::map<int, Newborn> asked_;  // by slot
  Timer wake_;                    // for the next refill
  bool slots_exhausted_ = false;
  bool others_left_ = false;
};

}  // namespace brood
