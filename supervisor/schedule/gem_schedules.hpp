#pragma once

#include <memory>
#include <optional>

#include "shared/base/time_unit.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Serves the schedules that the gem sidekiq-cron has in Redis, beside the gem's own pollers or instead of them, so that
// its tab in Sidekiq's Web UI still works.  As in the gem, a tick that is more than a minute late is skipped.
class GemSchedules {
 public:
  struct Settings {
    bool serves = false;
    std::optional<TimeUnit> times = {};  // for their jobs; nullopt: as the fleet writes them
  };

  GemSchedules(EventLoop& loop, AsyncConnection& redis, Settings settings);
  ~GemSchedules();
  GemSchedules(const GemSchedules&) = delete;
  GemSchedules& operator=(const GemSchedules&) = delete;

  // Looks now, and then repeats by itself.  Does nothing if the settings do not ask for it.
  void look();
  void set(Settings settings);  // ignored once stopped
  void stop();
  void resume(Settings settings);

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

}  // namespace brood
