#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "shared/base/host_memory.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/workers/end/memory_cgroup.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/template/worker_templates.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_slots.hpp"
#include "supervisor/workers/worker_turns.hpp"

namespace brood {

// Notes in the record which process runs there.  Both the worker and its supervisor do this: if the supervisor is
// killed right after the fork, the next one must not take the worker for dead.  The pid is written last: a reader that
// sees it may read the rest.
void say_who_runs(SlotRecord& record, pid_t pid);

// Forks workers for vacant places: from the supervisor, or from the generation's template.
class WorkerSpawner {
 public:
  WorkerSpawner(EventLoop& loop, Children& children, WorkerSlots& slots, const Generations& generations,
                WorkerOrders& orders, WorkerShards& shards, const Config& config);

  // Fills the places that have rested enough.  A refill does not wait for the recovery of the dead worker, unless so
  // many recoveries are pending that no slot is free.  `others_left`: workers that the table does not know still run.
  void fill_vacant_places(bool others_left);
  // The place is not filled again before `rest` has passed.
  void let_rest(int place, std::chrono::milliseconds rest, SteadyTime now);
  // hand_over() is for the next program in this process; adopt() takes over the previous program's templates.
  void hand_over(Handover& handover) const { templates_.hand_over(handover.templates); }
  void adopt(const Handover& left);
  // From now on no worker comes, not even one that was requested.  Ends the templates.
  void stop();
  // The number of requested workers that have not come yet.  An unknown child may be one of them.
  int asked() const { return static_cast<int>(asked_.size()); }

  // The cgroup of the workers, if brood has one.
  std::optional<MemoryCgroup>& memory_cgroup() { return memory_cgroup_; }

 private:
  struct Newborn {
    int place;
    std::uint32_t generation;
    ControlPipe control;
    OutputPipe output;
  };
  void spawn(int place, int slot, SteadyTime now);
  void take_cgroup_for(const Generation& generation);
  void prepare(int slot, const ProcessTable::Place& place, SteadyTime now);
  void tell_before_it_begins(int slot, const ProcessTable::Place& place, SteadyTime now);
  void settle_in(int slot, pid_t pid, Newborn newborn, SteadyTime now);
  void forked(const ForkAnswer& answer);
  void note_failed(int place, int slot, const std::string& reason, SteadyTime now);
  std::optional<SteadyTime> look_after_templates(SteadyTime now);
  WorkerTemplate::Setup template_setup(const Generation& generation) const;
  int run_worker(const Generation& generation, const ForkRequest& request, const WorkerDescriptors& descriptors) const;

  const pid_t supervisor_ = getpid();
  const std::uint64_t host_bytes_ = host_memory_bytes();
  WorkerSlots& slots_;
  const Generations& generations_;
  WorkerOrders& orders_;
  WorkerShards& shards_;
  WorkerTurns turns_;
  std::optional<MemoryCgroup> memory_cgroup_;
  std::uint32_t cgroup_sought_for_;  // the last generation for which one was sought
  WorkerTemplates templates_;
  std::map<int, Newborn> asked_;  // by slot
  Timer wake_;                    // for the next refill
  bool slots_exhausted_ = false;
  bool others_left_ = false;
};

}  // namespace brood
