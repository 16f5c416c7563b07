#pragma once

namespace brood {

// What a worker's jobs start and leave behind.  The worker adopts it, so that it is known whose it was: while the
// worker lives it may go on, and with the worker it is ended by the supervisor.

// Once at birth, and after a job that may have undone it.
void adopt_orphans();

// Collects children that have ended, so that no zombies pile up; at most so many that the next job is not kept waiting.
// Only between jobs: a job's own waitpid() finds all that it started itself.
void reap_orphans();

}  // namespace brood
