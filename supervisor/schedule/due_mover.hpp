#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/outcome.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Moves all that is due in one sorted set to its queues, a few hundred jobs a round trip.  Payloads are parsed at most
// about a megabyte in one turn of the loop.  A member that is no job, or that no queue can take, goes to the dead set;
// one whose queue is of the wrong type stays, and holds up nobody.
class DueMover {
 public:
  struct Done {
    std::uint64_t moved = 0, moved_to_dead = 0;
    std::uint64_t left = 0;        // that are due and stay
    std::string error;             // why it ended early; empty when nothing is due any more
    bool connection_lost = false;  // else `error` is an error reply
  };

  // Whether a due job stays where it is, for others to move.
  using Leaves = std::function<bool(std::string_view queue, WallTime due)>;

  DueMover(EventLoop& loop, AsyncConnection& redis, DeadLimits dead_limits, Leaves leaves = {});
  ~DueMover();
  DueMover(const DueMover&) = delete;
  DueMover& operator=(const DueMover&) = delete;

  // Moves what was due in `set_key` at `now`, by the clock of Redis.  `companion` is sent along with each batch and its
  // answer ignored.  One at a time: `done` must have been called before the next begins.
  void move_all(std::string set_key, WallTime now, Command companion, std::function<void(Done)> done);

  // Sends nothing more; `done` is not called.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A time as a bound of ZRANGEBYSCORE.
std::string score_bound(WallTime t);

}  // namespace brood
