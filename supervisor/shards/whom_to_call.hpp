#pragma once

#include <chrono>
#include <set>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// A worker that fetches, with all that matters for whether it moves.
struct MovableWorker {
  int slot = 0;
  int capsule = 0;
  int shard = 0;
  int wanted = 0;              // the shard that it was called to; its own: none
  bool goes_if_first = false;  // it was called with others, and goes if it is free first
  bool is_idle = false;
  bool runs_a_job = false;
  bool runs_a_long_job = false;
  SteadyTime since{};   // when it came to its shard
  SteadyTime called{};  // if it was
};

// Which workers are called to a shard in which a job waits that nobody there is free to take.
struct CalledWorkers {
  std::vector<int> slots;
  bool only_the_first = false;  // of them to end its job is to come
};

// An idle worker is called before all others, and rather from a shard that has many than the only one of a shard.  When
// none is idle, and nobody at all serves the shard, all workers that are busy elsewhere are called, and the first that
// is free comes.  But a worker that has just come to its shard stays there for a moment: otherwise few workers with
// many shards would move more than they work.  A worker in a long job does not count as serving its shard: where all
// are in long jobs, one comes from a shard that has more workers.  Nobody is called while a worker is on its way.
// Pure.
CalledWorkers whom_to_call(int shard, const std::set<int>& capsules, const std::vector<MovableWorker>& workers,
                           SteadyTime now);
inline constexpr std::chrono::milliseconds shortest_stay{200};  // of a worker that is busy
inline constexpr std::chrono::milliseconds time_to_come{250};   // for a worker that was idle

// The capsules of which a worker would come sooner or later.  Pure.
std::set<int> capsules_to_call(int shard, const std::vector<MovableWorker>& workers);

}  // namespace brood
