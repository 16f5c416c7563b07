#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "shared/redis/connection.hpp"

namespace brood {

// A lock of a unique job, and what is known about that job.
struct UniqueLock {
  std::string key;     // brood:unique:... or brood:running:...
  std::string holder;  // as the key has it
  std::string jid;
  std::optional<std::int64_t> expires_in_ms;  // nullopt: it lives as long as its job
  // About the job, once find_jobs_of() has found it.
  bool has_job = false;
  std::string job_class, queue;
  std::string until;  // start, done, running
};

// All locks in a Redis, ordered by key, at most `most`.  Scans all its keys.  Throws ConnectionLost or UnexpectedReply,
// as do the functions below.
std::vector<UniqueLock> all_locks(Channel& redis, std::size_t most = std::numeric_limits<std::size_t>::max());

// The lock with this key; nullopt if it is not held, or the key is no lock.
std::optional<UniqueLock> find_lock(Channel& redis, const std::string& key);

// How many locks are held by jobs, and how many by running jobs.  nullopt if Redis has so many keys that counting would
// take long.
struct LockCounts {
  std::size_t unique = 0, running = 0;
};
std::optional<LockCounts> count_locks(Channel& redis);

// Searches their jobs wherever jobs live: in queues, in flight, in `schedule`, `retry` and quarantine, page by page,
// and among the jobs that Ruby's processes run.  May miss a job that moves meanwhile.  Returns how many jobs it looked
// at.
std::size_t find_jobs_of(Channel& redis, std::vector<UniqueLock>& locks);

// Returns false if the lock is gone or has another holder.
bool release_lock(Channel& redis, const UniqueLock& lock);

// Lets go of the locks whose jobs no longer exist: a tool that deletes jobs without knowing of locks leaves them, and
// so may clearing a queue.  Searches three times, so that a job that moves is not taken for gone; if Ruby's processes
// run jobs, waits before the last search until each has published what it runs.  Leaves locks of running jobs alone:
// these belong to incarnations.  Returns the locks that were let go.
using WaitFor = std::function<void(std::chrono::milliseconds)>;
std::vector<UniqueLock> let_go_of_abandoned_locks(
    Channel& redis, const WaitFor& wait = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); });

}  // namespace brood
