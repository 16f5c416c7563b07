#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "supervisor/process/exit_status.hpp"
#include "supervisor/workers/places/ended_by.hpp"

namespace brood {

// Whether memory was the reason.
enum class MemoryVerdict {
  not_memory,
  own_limit,               // it reached its memory_limit
  host_pressure_guilty,    // the kernel chose it when the host's memory ran out, and it had more than its share
  host_pressure_innocent,  // the kernel chose it, though it had no more than its share
};

// All that is known of a worker's end.
struct WorkerExit {
  ExitStatus status;
  SlotSnapshot last;
  CapturedStack stack;
  int slot = 0;
  std::uint64_t processed_before = 0;  // what the slot had counted when the worker was forked
  EndedBy by = EndedBy::itself;
  MemoryVerdict memory = MemoryVerdict::not_memory;
  std::uint64_t memory_limit_bytes = 0;
  SteadyTime now{};
};

// What a worker's end means.
struct WorkerEnd {
  bool in_order = false;  // it left when told to, or was recycled; if it retired as well, there is nothing to recover
  bool nothing_to_recover = false;
  bool began_a_job = false;
  bool did_a_job = false;  // to the job's end, well or badly
  bool cut_short = false;  // a job's run ended with the worker, so the worker has not counted it as failed
  std::optional<WorkerDeath::Cause> cause;  // what the running job is charged with; `facts` are not set yet
  // The same for a job that it was about to begin, if that was the only one that it had fetched.
  std::optional<WorkerDeath::Cause> cause_before_begin;
};

// A thread that a job has left behind may end the worker when that job is over and no other has begun: then the job
// counts as still running.
void blame_who_left_threads(WorkerExit& exit);

// Pure: who pays for this end.  Only the job that ran, and only for an end of its own doing: a signal, an exit, its
// timeout, its memory; a SIGKILL of unknown origin too.  No job pays when brood ended the worker for reasons of its
// own, or the kernel chose it while others used up the host's memory.  A job that has not begun pays where its payload
// may have been too large for the memory limit: nobody could ever begin it.
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
