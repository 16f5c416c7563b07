#pragma once

#include <functional>
#include <optional>

#include "shared/base/clock.hpp"
#include "shared/base/time_unit.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/queues/ruby_processes_look.hpp"

namespace brood {

// The unit of the times in what a supervisor pushes itself: `told` if it has a value, else the unit that clients beside
// the same Ruby processes write (times_beside()).
class FleetTimes {
 public:
  FleetTimes(AsyncConnection& redis, std::optional<TimeUnit> told) : look_(redis), told_(told) {}

  // Calls `then` with an answer that is not old, or with a new one.  Where Redis does not tell, what was known before
  // holds, and the next look asks again.
  using Then = std::function<void(TimeUnit)>;
  void look(const Then& then);

 private:
  RubyProcessesLook look_;
  const std::optional<TimeUnit> told_;
  TimeUnit known_ = usual_time_unit;
  std::optional<SteadyTime> known_at_;
};

}  // namespace brood
