#pragma once

#include <chrono>
#include <set>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// A worker that fetches, as far as it matters where it does.
struct MovableWorker {
  int slot = 0;
  int capsule = 0;
  int shard = 0;
  int wanted = 0;              // the shard that it was called to; its own: it was not
  bool goes_if_first = false;  // among several that were called
  bool is_idle = false;
  bool runs_a_job = false;
  bool runs_a_long_job = false;  // nobody knows when it takes the next
  SteadyTime since{};            // when it came to its shard
  SteadyTime called{};           // if it was
};

// Who is called to a shard in which a job waits that nobody there is free to take.
struct CalledWorkers {
  std::vector<int> slots;
  bool only_the_first = false;  // that ends what it does
};

// An idle one comes before all others, and rather one of many than somebody's only one.  With nobody idle, and only
// where nobody serves the shard at all, all that are busy elsewhere are called, for one of them to come; but one that
// has come to where it is just now stays for a moment, so that few workers and many shards get more done than moves.
// Those in a long job serve nobody else: where all are, somebody comes from a shard that has more workers.
// Nobody is called while one is on its way.  Pure.
CalledWorkers whom_to_call(int shard, const std::set<int>& capsules, const std::vector<MovableWorker>& workers,
                           SteadyTime now);
inline constexpr std::chrono::seconds short_job{1};             // one that has run for longer is a long one
inline constexpr std::chrono::milliseconds shortest_stay{200};  // of one that is busy
inline constexpr std::chrono::milliseconds time_to_come{250};   // for one that was idle

// Of which capsules somebody would come sooner or later.  Pure.
std::set<int> capsules_to_call(int shard, const std::vector<MovableWorker>& workers);

}  // namespace brood
