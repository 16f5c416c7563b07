#include "shared/config/config.hpp"

namespace brood {

std::optional<TimeUnit> CompatibilitySettings::time_unit() const {
  if (timestamps) return timestamps;
  return sidekiq ? std::optional(sidekiq->time_unit()) : std::nullopt;
}

int Config::concurrency() const {
  int workers = 0;
  for (const CapsuleSettings& capsule : capsules) workers += capsule.concurrency;
  return workers;
}

const WorkerSettings& Config::worker_of(int capsule) const {
  const std::optional<WorkerSettings>& own = capsules.at(static_cast<std::size_t>(capsule)).worker;
  return own ? *own : worker;
}

}  // namespace brood
