#pragma once

#include <sys/resource.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "supervisor/report/running_jobs.hpp"
#include "supervisor/workers/end/end_overdue_jobs.hpp"
#include "supervisor/workers/end/exit_evidence.hpp"
#include "supervisor/workers/generation/generations.hpp"
#include "supervisor/workers/predecessors.hpp"
#include "supervisor/workers/ran_before.hpp"
#include "supervisor/workers/worker_orders.hpp"
#include "supervisor/workers/worker_slots.hpp"
#include "supervisor/workers/worker_spawner.hpp"

namespace brood {

// The workers of one supervisor: fills their places, and reaps workers that have ended.  WorkerOrders gives them
// orders, WorkerSuccession decides their generation, and supervisor/recovery handles dead workers' jobs.
class WorkerPool {
 public:
  // `identity` is the supervisor's name.  Takes over the workers in `left`.  If their scoreboard is unreadable, they
  // are ordered to finish and exit.
  WorkerPool(EventLoop& loop, Children& children, WorkerSlots& slots, const Generations& generations,
             WorkerOrders& orders, WorkerShards& shards, std::string identity, const Config& config,
             const std::optional<Handover>& left);

  // Each turn, unless the supervisor stops: fills the vacant places that have rested enough.
  void fill_vacant_places() { spawner_.fill_vacant_places(predecessors_.size() > 0); }
  // For the next program in this process.
  void hand_over(Handover& handover) const { spawner_.hand_over(handover); }
  // From now on no worker is spawned.
  void stop_spawning() { spawner_.stop(); }
  // While this is true, an unknown child may be a worker whose template has not answered yet.
  bool awaits_newborn() const { return spawner_.asked() > 0; }
  // Kills all workers without charging a job.
  void kill_all(const char* reason);
  // Ends jobs that run past their deadline, or that an operator wants ended.
  JobEnder& job_ender() { return job_ender_; }
  const JobEnder& job_ender() const { return job_ender_; }
  // Now and then: restores what jobs may have overwritten, logs slow starts, and ends workers that do not start.
  void look_after(SteadyTime now);
  // Orders a worker to finish the job in hand and exit; its place is filled again.  Returns false if it is not in that
  // slot.
  bool recycle(int slot, pid_t pid);
  bool is_in(int slot, pid_t pid) const {
    return slot >= 0 && slot < slots_.table.used_slots() && pid > 0 && slots_.table[slot].pid == pid;
  }
  // Logs that a worker was stopped (SIGSTOP): it finishes nothing and receives nothing.
  void note_stopped(pid_t pid) const;

  // Notes that a child was reaped, and empties its slot; nullopt if it was no worker.  The slot is free at once, unless
  // the worker left something to recover: then after recovered().
  std::optional<EndedWorker> reap(pid_t pid, const ExitStatus& status, const rusage& used, SteadyTime now);
  // Does nothing for a worker of another supervisor.
  void recovered(const DeadWorker& dead);

  int size() const { return slots_.table.kept(); }
  int occupied() const { return slots_.table.occupied() + spawner_.asked() + predecessors_.size(); }
  int ready() const { return slots_.table.ready(); }
  int busy() const { return slots_.busy(); }
  // Whether there has been a ready worker in each place.
  bool was_ready() const { return slots_.were_ready(); }
  std::string failing_starts() const;  // half a sentence for people; empty if none fails
  std::uint64_t last_incarnation() const { return slots_.table.last_incarnation(); }  // the last one that was assigned
  bool is_worker(pid_t pid) const { return slots_.table.slot_of(pid).has_value() || predecessors_.is_one(pid); }
  // "<slot>.<incarnation>" of every worker that may still hold jobs.
  std::set<std::string> living_fields() const;

  // Every record that was ever used.
  std::vector<SeenSlot> slots() const;
  // The shard that the slot's worker serves, or served last.
  int shard_of(int slot) const { return slots_.table[slot].shard; }
  // For heartbeats: see Heartbeat::Workers.
  std::vector<ClassUsage> take_class_usage() { return brood::take_class_usage(slots_.board); }
  // Counts jobs that the supervisor has moved to the dead set.
  void note_died(std::uint64_t jobs) { slots_.board.usage().died.fetch_add(jobs); }
  void note_beat_token(std::uint64_t token, int shard) { slots_.board.note_beat_token(token, shard); }
  void note_beat(BootTime sent, int shard) {
    exit_evidence_.note_host_memory(steady_now());  // needed when a worker ends
    slots_.board.note_beat(sent, shard);
  }

 private:
  void mend_records();
  void look_after_start(int slot, SteadyTime now);
  void free(int slot, std::uint64_t incarnation);
  void count_runs(const EndedWorker& ended, std::uint32_t generation);
  void report(const EndedWorker& ended, std::chrono::milliseconds rest, bool is_repeated) const;
  void let_finish(EventLoop& loop, const Handover& handover);
  void fill_capsules();

  // The settings of the worker that has or last had the slot.
  const WorkerSettings& settings_of(int slot) const {
    return generations_.worker(slots_.table[slot].generation, slots_.table[slot].capsule);
  }

  WorkerSlots& slots_;
  const Generations& generations_;
  WorkerOrders& orders_;
  WorkerSpawner spawner_;
  const std::string identity_;
  Predecessors predecessors_;  // of an unreadable scoreboard
  JobEnder job_ender_;
  ExitEvidence exit_evidence_;
  RanBeforeWatch ran_before_;
  std::set<pid_t> slow_to_start_;  // already logged
};

}  // namespace brood
