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

// Moves jobs whose time has come from `retry` and `schedule` to their queues.  It knows the next due score and wakes
// for it.  Jobs that are pushed meanwhile are found by polls, with Sidekiq's arithmetic, and in `schedule` also by
// glances: one command that counts what is due sooner.  It glances after each change that it hears of, or about twice a
// second if it hears of none.  The clock of Redis decides what is due.
//
// Unless it is to move all, it leaves jobs of queues that live Ruby processes serve, and none of brood's, to those for
// a minute, or longer in a large fleet: what their scheduler pushes goes through the middleware of Ruby's client.
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
    std::function<bool()> tells_time = [] { return true; };  // whether this Redis is whose clock the process goes by
    std::optional<TimeUnit> times = {};  // of a job that has none; nullopt: as the fleet writes them
  };

  Scheduler(EventLoop& loop, AsyncConnection& redis, Settings settings);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Looks now, unless a look is under way, and from then on by itself: at the start, and when Redis came back.
  void look();

  // Glances at `schedule` now: it has changed.
  void glance();

  // Whether glance() is called for every change from now on.
  void rely_on_being_told(bool told);

  // Goes by these from now on, if it is not stopped, and looks at once.
  void set(Settings settings);

  // Moves nothing more: Sidekiq's scheduler ends when a process quiets.  A batch under way may still be applied.
  void stop();

  // After a stop: goes by these, as at the start.
  void resume(Settings settings);

  // Since the start.
  std::uint64_t moved() const;
  std::uint64_t moved_to_dead() const;

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

}  // namespace brood
