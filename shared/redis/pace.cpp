#include "shared/redis/pace.hpp"

#include <algorithm>

namespace brood {

void Pace::note(std::uint64_t moved, SteadyTime now) {
  if (moved <= moved_) return;
  moved_ = moved;
  const std::chrono::duration<double> earned(static_cast<double>(moved_ - begin_) / slowest);
  const SteadyTime latest = first_ + std::chrono::duration_cast<std::chrono::nanoseconds>(earned);
  deadline_ = std::max(deadline_, std::min(now + silence_, latest));
}

}  // namespace brood
