#include "worker/leaving.hpp"

namespace brood {

Leaving how_to_leave(const WorkerSlot& slot, bool has_outcomes) {
  if (!has_outcomes) return Leaving::goes_on;
  for (int entry = 0; entry < max_batch_entries; ++entry) {
    const EntryState state = slot.entry(entry);
    if (state == EntryState::running || state == EntryState::failed || state == EntryState::being_killed)
      return Leaving::not_yet;
  }
  return Leaving::ends;
}

}  // namespace brood
