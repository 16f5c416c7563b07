#pragma once

#include <functional>
#include <optional>

#include "shared/base/clock.hpp"
#include "shared/base/time_unit.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/queues/ruby_processes_look.hpp"

namespace brood {

// The time unit for a supervisor's own pushes: `told` if set, else the unit that clients beside the same Ruby processes
// write (times_beside()).
class FleetTimes {
 public:
  FleetTimes(AsyncConnection& redis, std::optional<TimeUnit> told) : look_(redis), told_(told) {}

  // Calls `then` with a recent answer or a new one.  If Redis does not answer, calls it with the previous answer, and
  // the next look asks again.
  using Then = std::function<void(TimeUnit)>;
  void look(const Then& then);

 private:
  RubyProcessesLook look_;
  const std::optional<TimeUnit> told_;
  TimeUnit known_ = usual_time_unit;
  std::optional<SteadyTime> known_at_;
};

}  // namespace brood
