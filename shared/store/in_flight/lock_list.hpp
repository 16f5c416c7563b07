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

// A lock of a unique job, and what is known of that.
struct UniqueLock {
  std::string key;     // brood:unique:... or brood:running:...
  std::string holder;  // as the key has it
  std::string jid;
  std::optional<std::int64_t> expires_in_ms;  // nullopt: it lives as long as its job
  // Of the job, once it has been looked for.
  bool has_job = false;
  std::string job_class, queue;
  std::string until;  // start, done, running
};

// All locks of a Redis, by their keys, or so many of them.  Looks through all its keys.  Throws ConnectionLost or
// UnexpectedReply, as the others do.
std::vector<UniqueLock> all_locks(Channel& redis, std::size_t most = std::numeric_limits<std::size_t>::max());

// The one with this key; nullopt: nobody holds it, or a key of that name is no lock.
std::optional<UniqueLock> find_lock(Channel& redis, const std::string& key);

// How many there are, held by jobs and by what runs.  nullopt: Redis has so many keys that counting would take long.
struct LockCounts {
  std::size_t unique = 0, running = 0;
};
std::optional<LockCounts> count_locks(Channel& redis);

// Looks for their jobs wherever jobs live: in queues, in flight, in `schedule`, `retry` and quarantine, one page after
// the other, and in what Ruby's processes say that they run.  A job that moves meanwhile may be missed.  Returns how
// many jobs it looked at.
std::size_t find_jobs_of(Channel& redis, std::vector<UniqueLock>& locks);

// False: it has gone, or another holds it.
bool release_lock(Channel& redis, const UniqueLock& lock);

// Lets go of the locks whose jobs live nowhere: what deletes jobs and knows nothing of locks leaves them, and so may
// clearing a queue.  Looks three times, so that a job that moves is not taken for gone; where Ruby's processes run jobs
// too, it waits before the last until each has told what it runs.  Locks of running jobs are their incarnations' and
// are left alone.  Returns those that were let go.
using WaitFor = std::function<void(std::chrono::milliseconds)>;
std::vector<UniqueLock> let_go_of_abandoned_locks(
    Channel& redis, const WaitFor& wait = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); });

}  // namespace brood
