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

// Pushes periodic jobs, one at each tick.
//
// Every supervisor computes the ticks and tries to claim each.  Redis lets one succeed, and the push is part of the
// claim. So there is no leader: a supervisor that dies at a tick has either pushed its job, or has not claimed the
// tick, and another supervisor does.  The clock of Redis decides when a tick has come.
class PeriodicJobs {
 public:
  struct Settings {
    std::string identity;
    std::map<std::string, PeriodicSettings> jobs;  // their zones are known: see check_zones()
    std::optional<TimeUnit> times = {};            // for the jobs; nullopt: as the fleet writes them
  };

  PeriodicJobs(EventLoop& loop, AsyncConnection& redis, Settings settings);
  ~PeriodicJobs();
  PeriodicJobs(const PeriodicJobs&) = delete;
  PeriodicJobs& operator=(const PeriodicJobs&) = delete;

  // Writes to Redis which periodic jobs are served, checks which are due, and repeats by itself.  Call it at the start
  // and when Redis is back.  Sends nothing if there are no such jobs.
  void look();

  // Uses these settings from now on; ignored once stopped.
  void set(Settings settings);

  void stop();
  void resume(Settings settings);

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

}  // namespace brood
