#include "supervisor/readiness.hpp"

#include <algorithm>

#include "shared/base/log.hpp"

namespace brood {

// Our own server is part of what is to be ready.
bool Readiness::redis_stands_in_the_way() const {
  if (redis_.was_usable()) return false;
  return redis_.is_embedded() || !redis_.is_away() || !redis_.refusal().empty();
}

void Readiness::look() {
  if (said_ || !pool_.was_ready() || redis_stands_in_the_way()) return;
  said_ = true;
  service_.ready();
  log::info("ready", {{"workers", pool_.size()}});
}

bool Readiness::is_hopeless_after_refusal(int place) {
  crashes_[place] = crashes_that_refuse;
  return is_hopeless();
}

bool Readiness::is_hopeless_after_crash(int place) {
  ++crashes_[place];
  return is_hopeless();
}

bool Readiness::is_hopeless() const {
  if (pool_.was_ready() || pool_.ready() > 0) return false;
  const auto refused = std::count_if(crashes_.begin(), crashes_.end(),
                                     [](const auto& place) { return place.second >= crashes_that_refuse; });
  return refused >= pool_.size();
}

}  // namespace brood
