#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// A worker that lives, or a dead one whose jobs are not recovered yet, as it matters to other workers of capsules of
// the same name, of any generation.
struct TurnTaker {
  int slot = 0;
  std::string_view capsule = {};
  bool alone = false;          // its capsule has one worker
  SteadyTime since{};          // when it was forked
  bool finishing = false;      // it has been told to finish its job and exit
  bool never_fetched = false;  // it has waited for its turn since it was forked, and holds nothing
  std::optional<SteadyTime> ended = {};
  int shard = 0;  // the shard that it serves; order is kept within each
};

// A capsule of one worker runs one job at a time, however its workers come and go.  A new worker waits for its turn
// until those before it are gone.  It also waits a while for the recovery of one that died in the same shard, so that
// jobs which are given back run first.  One that leaves and has never fetched is not waited for.  Returns the slots
// whose turn it is not.  `strangers`: workers live of which nothing else is known, and then it is nobody's turn.  Pure.
inline constexpr std::chrono::seconds longest_wait_for_recovery{30};
std::set<int> who_waits(const std::vector<TurnTaker>& workers, bool strangers, SteadyTime now);

}  // namespace brood
