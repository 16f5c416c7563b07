#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// The facts about a worker that matter to workers of capsules with the same name, in any generation.  The worker lives,
// or its jobs are not recovered yet.
struct TurnTaker {
  int slot = 0;
  std::string_view capsule = {};
  bool alone = false;          // its capsule has one worker
  SteadyTime since{};          // when it was forked
  bool finishing = false;      // it has been ordered to finish its job and exit
  bool never_fetched = false;  // it has waited for its turn since it was forked, so it holds nothing
  std::optional<SteadyTime> ended = {};
  int shard = 0;  // the shard that it serves; order is kept within each
};

// Returns the slots of the workers that must wait for their turn.  Pure.
//
// A capsule of one worker runs one job at a time, even while its workers change.  So a new worker waits until the
// earlier ones are gone.  It also waits a while for the recovery of a worker that died in the same shard, so that jobs
// which are given back run first.  It does not wait for a leaving worker that has never fetched.  If there are
// `strangers`, living workers of which nothing is known, all workers wait.
inline constexpr std::chrono::seconds longest_wait_for_recovery{30};
std::set<int> who_waits(const std::vector<TurnTaker>& workers, bool strangers, SteadyTime now);

}  // namespace brood
