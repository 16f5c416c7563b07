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

// What a cgroup's memory.events and memory.events.local have counted.
struct MemoryEvents {
  std::uint64_t oom_kill = 0;        // processes in it that the out-of-memory killer ended, whichever limit caused it
  std::uint64_t oom_group_kill = 0;  // times that the cgroup was ended as a whole
  std::uint64_t max = 0, oom = 0;    // times that it reached its own limit, and that nothing was left to reclaim

  bool operator==(const MemoryEvents&) const = default;
};

// Whether memory was the reason.
enum class MemoryVerdict {
  not_memory,
  own_limit,               // it reached its memory_limit
  host_pressure_guilty,    // the kernel chose it when the host's memory ran out, and it had more than its share
  host_pressure_innocent,  // the kernel chose it, though it had no more than its share
};

// Everything that was seen of a worker that has ended.
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
  std::optional<SteadyTime> ready_at = {};  // nullopt if it never was
  std::uint64_t processed_before = 0;       // what the slot had counted when the worker was forked

  SlotSnapshot last = {};  // its own record
  CapturedStack stack = {};

  // Memory: see judge_memory().
  std::uint64_t memory_limit_bytes = 0;   // 0 if it had none
  std::optional<MemoryEvents> leaf = {};  // of its own cgroup since it was forked; nullopt if it had none
  bool host_oom_kill = false;             // the kernel has counted a kill that no other death explains
  std::uint64_t host_bytes = 0;           // what the supervisor and all workers may have together
  int workers = 1;                        // that shared it
  MemoryVerdict memory = MemoryVerdict::not_memory;

  // It ran jobs in processes of their own, which may outlive it for a moment.
  bool forked_jobs() const { return last.forks_jobs || last.job_pid > 0; }
};

// What a worker's end means, and who is charged with it.
struct WorkerEnd {
  bool in_order = false;  // it left when told to, or was recycled
  bool nothing_to_recover = false;
  bool began_a_job = false;
  bool did_a_job = false;  // to the job's end, well or badly
  bool cut_short = false;  // a job's run ended with the worker, so the worker has not counted it as failed
  std::optional<WorkerDeath::Cause> cause;  // what the running job is charged with; `facts` are not set yet
  // The same for a job that it was about to begin, if that was the only one that it had fetched.
  std::optional<WorkerDeath::Cause> cause_before_begin;
};

// A worker that has ended: what was seen, what it means, and what the recovery gets.
struct EndedWorker {
  WorkerExit exit;
  WorkerEnd end;
  std::optional<WorkerDeath> death;  // nullopt if nothing is to be recovered
};

// A thread that a job has left behind may end the worker when that job is over and no other has begun: then the job
// counts as still running.
void blame_who_left_threads(WorkerExit& exit);

// Decides which job is charged with this end; pure.  Only the job that ran is charged, and only for an end that it
// caused: a signal, an exit, its timeout, its memory, and a SIGKILL of unknown origin.  No job is charged if brood
// ended the worker for reasons of its own, or if the kernel chose it while others used up the host's memory.  A job
// that has not begun is charged if its payload may have been too large for the memory limit: no worker could ever begin
// it.
WorkerEnd judge_worker_end(const WorkerExit& exit);

// Whether a handler of an event was running when the worker ended.
bool ended_in_a_handler(const SlotSnapshot& last);

// The job library whose code it was loading; empty: it was not.
std::string loading_when_it_ended(const SlotSnapshot& last);

// Whether this entry of the batch was running (its code or its hooks) when the worker ended.
bool ended_with_worker(const SlotSnapshot& last, int entry);

// 42s, 12m, 3h
std::string short_duration(std::chrono::nanoseconds d);

}  // namespace brood
