#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// A living worker, or a dead one whose jobs are not recovered yet, as far as it matters to workers of capsules with the
// same name, in any generation.
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

// A capsule of one worker runs one job at a time, even while its workers change.  A new worker waits for its turn until
// the earlier ones are gone.  It also waits a while for the recovery of one that died in the same shard, so that jobs
// which are given back run first.  It does not wait for a leaving worker that has never fetched.  Returns the slots of
// the workers that must wait: all of them if `strangers`, living workers of which nothing is known, are left.  Pure.
inline constexpr std::chrono::seconds longest_wait_for_recovery{30};
std::set<int> who_waits(const std::vector<TurnTaker>& workers, bool strangers, SteadyTime now);

}  // namespace brood
