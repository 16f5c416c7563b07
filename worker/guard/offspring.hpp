#pragma once

#include <cstdint>

namespace brood {

// The processes that a worker's jobs start and leave behind.  The worker adopts them, so that it is known whose they
// are: they may go on while the worker lives; when it has ended, the supervisor ends them.

// Call it once at birth, and after a job that may have undone it.
void adopt_orphans();

// Collects children that have ended, so that no zombies pile up; at most so many that the next job is not kept waiting.
// Only between jobs: a job's own waitpid() finds all that it started itself.
void reap_orphans();

// The use of the processes that end_offspring() has reaped.
struct OffspringUse {
  std::int64_t cpu_us = 0;
  std::uint64_t peak_kb = 0;  // of the largest
  int killed = 0;
};

// Kills and reaps all children, and the orphans that this process then adopts, until none is left: nothing that they
// started runs any more.  Only for a process that has called adopt_orphans().
OffspringUse end_offspring();

}  // namespace brood
