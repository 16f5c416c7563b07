#include "supervisor/workers/worker_slots.hpp"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"

namespace brood {

WorkerSlots::WorkerSlots(const Setup& setup, const Config& config)
    : board(take_scoreboard(setup, config, adopted_)), table(board.slots()) {
  // A start counts as a heartbeat: no process can have missed ours yet.
  if (adopted_) return;
  for (Scoreboard::ShardBeat& beat : board.beats()) beat.last_beat.store(boot_now().time_since_epoch().count());
}

// Opens the scoreboard that the previous program left, if it is readable; else makes a new one.
Scoreboard WorkerSlots::take_scoreboard(const Setup& setup, const Config& config, bool& adopted) {
  if (setup.left) {
    const std::string path = scoreboard_path(setup.runtime_directory, setup.identity);
    try {
      Scoreboard left = Scoreboard::open(path, true);
      left.grow(std::max(left.slots(), slots_for(config)));
      adopted = true;
      return left;
    } catch (const std::runtime_error& error) {
      log::warn("scoreboard_not_adopted", {{"reason", error.what()}, {"hint", "the workers are replaced at once"}});
      ::unlink(path.c_str());  // its workers still have it mapped
    }
  }
  Scoreboard created = Scoreboard::create(setup.runtime_directory, setup.identity, slots_for(config));
  created.name_instance(setup.instance);
  return created;
}

void WorkerSlots::make_room(const Config& config) {
  // Workers of earlier generations may still run long jobs, and a place whose worker has just ended needs another slot.
  int taken = 0;
  for (int slot = 0; slot < table.slots(); ++slot)
    taken += table[slot].pid != 0 || table[slot].held || table[slot].reserved;
  for (const auto& [key, place] : table.places())
    taken += place.state == ProcessTable::Place::State::kept && !place.slot && !place.reserved;
  const int slots = std::max({slots_for(config), table.slots(), taken + config.concurrency() + spare_slots});
  board.grow(slots);
  table.grow(slots);
}

int WorkerSlots::busy() const {
  int busy = 0;
  for (int slot = 0; slot < table.used_slots(); ++slot) busy += is_busy(slot);
  return busy;
}

}  // namespace brood
