#pragma once

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// A slot with a living worker, for those who look into the scoreboard many times a second.
struct OccupiedSlot {
  int slot = 0;
  int capsule = 0;  // index into Config::capsules
  SlotRecord* record = nullptr;
  int shard = 0;  // that it serves
};

}  // namespace brood
