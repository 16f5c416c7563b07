#pragma once

#include <string>
#include <vector>

#include "tests/walk/dice.hpp"

namespace brood::walk {

// The queues that jobs are pushed to.  "cold" is not served by every configuration, and two are tenants.
inline const std::vector<std::string> all_queues{"default", "low",  "capped",     "side",
                                                 "serial",  "cold", "shared~one", "shared~two"};

constexpr int no_cap = 1'000'000;

// A configuration of brood drawn by the dice, with the facts that the verdict needs.
struct DrawnConfig {
  std::string text;         // without the part in `site`, and [log]
  std::string site;         // its Redis and its keys
  int workers = 0;          // in all capsules
  int queue_cap = no_cap;   // of the jobs of the queue "capped"
  int class_cap = no_cap;   // of WalkHeavy
  int tenant_cap = no_cap;  // of each tenant of "shared"
  bool quarantine = false;
};

// The shards divide the caps, so each cap is at least their number.
DrawnConfig draw_config(WalkDice& dice, int shards);
// The configuration at the end of a walk: it serves each queue, so that each remaining job is performed.
DrawnConfig last_config(WalkDice& dice, int shards);

}  // namespace brood::walk
