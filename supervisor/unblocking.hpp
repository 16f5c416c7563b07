#pragma once

#include <memory>

#include "shared/redis/async_connection.hpp"
#include "shared/scoreboard.hpp"
#include "supervisor/event_loop.hpp"

namespace brood {

// Has Redis let go of workers that wait there, so that each heeds what it was just told.
class Unblocking {
 public:
  Unblocking(EventLoop& loop, AsyncConnection& redis);
  ~Unblocking();
  Unblocking(const Unblocking&) = delete;
  Unblocking& operator=(const Unblocking&) = delete;

  // Of a worker that has just been sent a byte, and never before it: a worker says that it waits, then empties its
  // control pipe and reads its flags, then waits, so that either it sees the byte or we see that it waits.  `record`
  // must outlive this object.
  void unblock(const SlotRecord& record);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace brood
