#pragma once

#include <chrono>
#include <set>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// Decides which worker serves which shard, if there are several.  Pure.

// A shard, for a worker that needs one to serve.
struct ShardToServe {
  bool is_usable = false;
  // A capsule with one worker runs jobs in order: jobs left behind in a shard must go back before another is fetched
  // there.
  bool is_in_order = true;
  bool is_there = true;  // the worker's configuration has it, and it has not been removed
};

// The shard for a worker that prefers `first`: the next usable one in the circle that begins there.  Shards that are
// in order come before the others.  If no shard is usable, the first one that is there; `first` if none is.
int choose_shard(int first, const std::vector<ShardToServe>& shards);

// A worker that fetches, with everything that decides whether it moves.
struct MovableWorker {
  int slot = 0;
  int capsule = 0;
  int shard = 0;
  int wanted = 0;              // the shard that it was called to; its own if it was not called
  bool goes_if_first = false;  // it was called together with others, and moves only if it is the first that is free
  bool is_idle = false;
  bool runs_a_job = false;
  bool runs_a_long_job = false;
  SteadyTime since{};   // when it came to its shard
  SteadyTime called{};  // when it was called
};

// The workers to call to a shard where a job waits and no worker is free.
struct Rebalance {
  std::vector<int> slots;
  bool only_the_first = false;  // only the first of them that is free moves
};

// Calls an idle worker if there is one, from the shard with most idle workers.  If none is idle and no worker serves
// the shard, calls all workers that are busy elsewhere, and the first that is free moves.
//
// A worker in a long job does not count as serving its shard.  If all workers are in long jobs, one comes from a shard
// that has more of them.  A busy worker stays in a shard for `shortest_stay`: otherwise a few workers with many shards
// would spend their time moving.  While a worker is on its way, no other is called.
Rebalance plan_rebalance(int shard, const std::set<int>& capsules, const std::vector<MovableWorker>& workers,
                         SteadyTime now);
inline constexpr std::chrono::milliseconds shortest_stay{200};
inline constexpr std::chrono::milliseconds time_to_come{250};  // after this a called idle worker no longer counts

// The capsules with a worker that would come, now or once it is free.
std::set<int> capsules_to_call(int shard, const std::vector<MovableWorker>& workers);

}  // namespace brood
