#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "supervisor/process/exit_status.hpp"
#include "supervisor/workers/places/ended_by.hpp"

namespace brood {

// Counters from a cgroup's memory.events and memory.events.local.
struct MemoryEvents {
  std::uint64_t oom_kill = 0;        // processes in it that the out-of-memory killer ended, for any limit
  std::uint64_t oom_group_kill = 0;  // times that the cgroup was ended as a whole
  std::uint64_t max = 0, oom = 0;    // times that it reached its own limit, and that nothing was left to reclaim

  bool operator==(const MemoryEvents&) const = default;
};

// Whether memory caused the end, and whose.
enum class MemoryVerdict {
  not_memory,
  own_limit,               // it reached its memory_limit
  host_pressure_guilty,    // the kernel chose it when the host's memory ran out, and it had more than its share
  host_pressure_innocent,  // the kernel chose it, although it had no more than its share
};

// The facts about a worker that has ended.
struct WorkerExit {
  int slot = 0;
  int place = 0;
  pid_t pid = 0;
  ExitStatus status;
  rusage used = {};
  SteadyTime now{};
  EndedBy by = EndedBy::itself;

  bool is_fresh = false;  // see WorkerSuccession
  SteadyTime began{};
  std::optional<SteadyTime> ready_at = {};  // nullopt if it was never ready
  std::uint64_t processed_before = 0;       // the slot's counter when the worker was forked

  SlotSnapshot last = {};  // its own record
  CapturedStack stack = {};

  // Memory: see judge_memory().
  std::uint64_t memory_limit_bytes = 0;   // 0 if it had none
  std::optional<MemoryEvents> leaf = {};  // of its own cgroup since it was forked; nullopt if it had none
  bool host_oom_kill = false;             // the kernel has counted a kill that no other death explains
  std::uint64_t host_bytes = 0;           // what the supervisor and all workers may use together
  int workers = 1;                        // that shared it
  MemoryVerdict memory = MemoryVerdict::not_memory;

  // Whether it ran jobs in processes of their own, which may briefly outlive it.
  bool forked_jobs() const { return last.forks_jobs || last.job_pid > 0; }
};

// The judgement of a worker's end, and the charge for its job.
struct WorkerEnd {
  bool in_order = false;  // it obeyed an order to leave, or was recycled
  bool nothing_to_recover = false;
  bool began_a_job = false;
  bool did_a_job = false;  // to the job's end, successful or not
  bool cut_short = false;  // a job's run ended with the worker, so the worker has not counted it as failed
  std::optional<WorkerDeath::Cause> cause;  // the charge for the running job; `facts` are not set yet
  // The same for a job that it was about to begin, if it had fetched no other.
  std::optional<WorkerDeath::Cause> cause_before_begin;
};

// A worker that has ended: the facts, their judgement, and the recovery's input.
struct EndedWorker {
  WorkerExit exit;
  WorkerEnd end;
  std::optional<WorkerDeath> death;  // nullopt if there is nothing to recover
};

// A thread that a job left behind may end the worker between that job and the next.  In that case marks the job as
// still running.
void blame_who_left_threads(WorkerExit& exit);

// Decides which job is charged with this end.  Pure.
//
// Only the job that ran is charged, and only for an end that it caused: a signal, an exit, its timeout, its memory, and
// a SIGKILL of unknown origin.  No job is charged if brood ended the worker for reasons of its own, or if the kernel
// chose the worker while others used up the host's memory.  A job that has not begun is charged if its payload may have
// been too large for the memory limit: otherwise no worker could ever begin it.
WorkerEnd judge_worker_end(const WorkerExit& exit);

// Whether a handler of an event was running when the worker ended.
bool ended_in_a_handler(const SlotSnapshot& last);

// The job library that it was loading; empty if none.
std::string loading_when_it_ended(const SlotSnapshot& last);

// Whether this entry of the batch (its code or its hooks) was running when the worker ended.
bool ended_with_worker(const SlotSnapshot& last, int entry);

// 42s, 12m, 3h
std::string short_duration(std::chrono::nanoseconds d);

}  // namespace brood
