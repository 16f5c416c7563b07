#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// A worker that lives, or that has died and whose jobs are not yet recovered, as those see it who share its capsule's
// name: those of another generation too.
struct TurnTaker {
  int slot = 0;
  std::string_view capsule = {};
  bool alone = false;          // its capsule is to have one worker
  SteadyTime since{};          // when it was forked
  bool finishing = false;      // it has been told to finish its job and exit
  bool never_fetched = false;  // it has waited for its turn ever since, and holds nothing
  std::optional<SteadyTime> ended = {};
  int shard = 0;  // that it serves; order holds within each
};

// A capsule of one worker runs one job at a time, whatever its workers' comings and goings: a new one, however ready,
// waits for its turn until those before it are gone, and a while for the recovery of one that died in the same shard,
// so that what that gives back runs first.  Says whose turn it is not; with `strangers`, workers of whom no more is
// known than that they live, it is nobody's.  Pure.
inline constexpr std::chrono::seconds longest_wait_for_recovery{30};
std::set<int> who_waits(const std::vector<TurnTaker>& workers, bool strangers, SteadyTime now);

}  // namespace brood
