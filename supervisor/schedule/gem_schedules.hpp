#pragma once

#include <memory>
#include <optional>

#include "shared/base/time_unit.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Serves the schedules that the gem sidekiq-cron has in Redis, beside its own pollers or after the last of them has
// gone: so the gem's tab in Sidekiq's Web UI goes on working.  A tick that is late by more than a minute does not come,
// as with the gem.
class GemSchedules {
 public:
  struct Settings {
    bool serves = false;
    std::optional<TimeUnit> times = {};  // that their jobs are given; nullopt: as the fleet writes them
  };

  GemSchedules(EventLoop& loop, AsyncConnection& redis, Settings settings);
  ~GemSchedules();
  GemSchedules(const GemSchedules&) = delete;
  GemSchedules& operator=(const GemSchedules&) = delete;

  // Looks now, and from then on by itself; nothing where it does not serve them.
  void look();
  void set(Settings settings);  // unless it is stopped
  void stop();
  void resume(Settings settings);

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

}  // namespace brood
