#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shared/redis/async_connection.hpp"
#include "shared/store/outcome.hpp"
#include "supervisor/event_loop.hpp"
#include "supervisor/poll_interval.hpp"

namespace brood {

// Moves jobs whose time has come from `retry` and `schedule` to their queues.  It knows the next due score and wakes
// for it; what was pushed meanwhile it finds by polling with Sidekiq's arithmetic.  Due is judged by the clock of
// Redis.
class Scheduler {
 public:
  struct Settings {
    std::string identity;
    PollSettings poll;
    DeadLimits dead_limits;
  };

  Scheduler(EventLoop& loop, AsyncConnection& redis, Settings settings);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Looks now, unless a look is under way, and from then on by itself: at the start, and when Redis came back.
  void look();

  // Goes by these from now on, if it is not stopped, and looks at once.
  void set(Settings settings);

  // Moves nothing more: Sidekiq's scheduler ends when a process quiets.  A batch under way may still be applied.
  void stop();

  // Since the start.
  std::uint64_t moved() const;
  std::uint64_t buried() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace brood
