#include "shared/api/push/spread.hpp"

#include <algorithm>
#include <stdexcept>

namespace brood {
namespace {

// Sidekiq's, which looks for due jobs every five seconds.
constexpr std::chrono::milliseconds least_spread = std::chrono::seconds(5);

}  // namespace

void spread_out(Push& job, std::chrono::milliseconds spread, WallTime now, RandomBytes& random) {
  if (spread.count() <= 0) throw std::invalid_argument("a spread is a positive duration");
  if (job.at) throw std::invalid_argument("a job that has its time cannot be spread");
  const std::chrono::duration<double> later = std::max(spread, least_spread) * random.fraction();
  job.at = std::chrono::time_point_cast<std::chrono::system_clock::duration>(now + later);
}

}  // namespace brood
