#pragma once

#include <cstdint>

namespace brood {

// The processes that a worker's jobs start and leave behind.  The worker adopts them, so that they stay its children.
// They may go on while the worker lives.  When the worker has ended, the supervisor ends them.

// Makes this process the parent of its orphaned descendants.  Call it once at the start, and after a job that may have
// undone it.
void adopt_orphans();

// Reaps children that have ended, so that zombies do not accumulate.  It reaps a limited number, so that the next job
// need not wait long.  Call it only between jobs, so that a job's own waitpid() finds the children of that job.
void reap_orphans();

// The use of the processes that end_offspring() has reaped.
struct OffspringUse {
  std::int64_t cpu_us = 0;
  std::uint64_t peak_kb = 0;  // of the process with the largest peak
  int killed = 0;             // the number of signals sent to children
};

// Kills and reaps all children, and the orphans that this process then adopts, until none is left.  Then no process
// that they started runs any more.  Call it only in a process that has called adopt_orphans().
OffspringUse end_offspring();

}  // namespace brood
