#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "shared/base/time_unit.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/outcome.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/schedule/poll_interval.hpp"

namespace brood {

// Moves due jobs from `retry` and `schedule` to their queues.  The clock of Redis decides what is due.
//
// It knows the next due score and wakes for it.  Polls, with Sidekiq's arithmetic, find jobs that are pushed meanwhile.
// In `schedule` glances find them too: one command that counts what is due sooner.  It glances after each reported
// change, or about twice a second if changes are not reported.
//
// Unless it must move all jobs, it leaves a job to live Ruby processes for a minute, or longer in a large fleet, if
// only they serve the job's queue: their scheduler pushes it through the middleware of Ruby's client.
class Scheduler {
 public:
  struct Settings {
    std::string identity;
    PollSettings poll;
    DeadLimits dead_limits;
    std::chrono::nanoseconds between_glances = std::chrono::milliseconds(450);
    bool leaves_to_ruby = true;
    std::optional<std::chrono::nanoseconds> left_to_ruby_for = {};  // nullopt: by the size of the fleet
    std::chrono::nanoseconds between_glances_when_told = std::chrono::seconds(5);
    std::function<bool()> tells_time = [] { return true; };  // whether the process goes by the clock of this Redis
    std::optional<TimeUnit> times = {};                      // for a job without one; nullopt: as the fleet writes them
  };

  Scheduler(EventLoop& loop, AsyncConnection& redis, Settings settings);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Looks now, unless a look is under way, and then repeats by itself.  Call it at the start, and when Redis is back.
  void look();

  // Glances at `schedule` now, since it has changed.
  void glance();

  // Whether glance() will be called for each change.
  void rely_on_reports(bool told);

  // Uses these settings from now on and looks at once; ignored once stopped.
  void set(Settings settings);

  // Moves nothing more: Sidekiq's scheduler ends when a process quiets.  A batch under way may still be applied.
  void stop();

  // After a stop: uses these settings, as at the start.
  void resume(Settings settings);

  // Since the start.
  std::uint64_t moved() const;
  std::uint64_t moved_to_dead() const;

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

}  // namespace brood
