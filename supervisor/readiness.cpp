#include "supervisor/readiness.hpp"

#include "shared/log.hpp"

namespace brood {

// Somebody else's Redis may come when it likes; our own is part of what is to be ready.
void Readiness::look() {
  if (said_ || !pool_.was_ready() || (redis_.is_embedded() && !redis_.was_usable())) return;
  said_ = true;
  service_.ready();
  log::info("ready", {{"workers", pool_.size()}});
}

bool Readiness::is_hopeless_after_failed_start(int place) {
  if (pool_.was_ready() || pool_.ready() > 0) return false;
  failed_starts_.insert(place);
  return static_cast<int>(failed_starts_.size()) >= pool_.size();
}

}  // namespace brood
