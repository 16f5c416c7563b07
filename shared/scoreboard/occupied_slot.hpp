#pragma once

#include <chrono>

#include "shared/base/clock.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// A slot with a living worker, for code that reads the scoreboard many times a second.
struct OccupiedSlot {
  int slot = 0;
  int capsule = 0;  // index into Config::capsules
  SlotRecord* record = nullptr;
  int shard = 0;  // that it serves
};

// Whether the worker's job has run so long that it is unknown when the next one begins.  A job may have overwritten the
// record.
inline constexpr std::chrono::seconds short_job{1};  // a job that has run for longer is a long one
inline bool runs_a_long_job(const SlotRecord& record, SteadyTime now) {
  return record.current.load() >= 0 &&
         SteadyTime(std::chrono::nanoseconds(record.started_steady.load())) < now - short_job;
}

}  // namespace brood
