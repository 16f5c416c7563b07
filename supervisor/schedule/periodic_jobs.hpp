#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "shared/base/time_unit.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Periodic jobs: at each tick one is pushed.  Every supervisor computes the ticks and tries to claim each; Redis lets
// one do it, and the push is in the claim.  So there is no leader, and whoever dies at a tick has either pushed its job
// or not claimed it, and another does.  The clock of Redis decides when a tick has come.
class PeriodicJobs {
 public:
  struct Settings {
    std::string identity;
    std::map<std::string, PeriodicSettings> jobs;  // whose zones are known: see check_zones()
    std::optional<TimeUnit> times = {};            // that they are given; nullopt: as the fleet writes them
  };

  PeriodicJobs(EventLoop& loop, AsyncConnection& redis, Settings settings);
  ~PeriodicJobs();
  PeriodicJobs(const PeriodicJobs&) = delete;
  PeriodicJobs& operator=(const PeriodicJobs&) = delete;

  // Says in Redis what is served and looks what is due, and from then on by itself: at the start, and when Redis came
  // back.  Costs nothing where there are no such jobs.
  void look();

  // Goes by these from now on, if it is not stopped.
  void set(Settings settings);

  void stop();
  void resume(Settings settings);

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

}  // namespace brood
