#pragma once

#include <memory>

#include "shared/redis/async_connection.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Has Redis let go of workers that wait there, so that each follows what it was just told, or has what it fetched.
class WorkerUnblocker {
 public:
  WorkerUnblocker(EventLoop& loop, AsyncConnection& redis);
  ~WorkerUnblocker();
  WorkerUnblocker(const WorkerUnblocker&) = delete;
  WorkerUnblocker& operator=(const WorkerUnblocker&) = delete;

  // Of one who is to follow something, after the byte that says so and never before it: a worker says that it waits,
  // then empties its control pipe and reads its flags, then waits, so that either it sees the byte or we see that it
  // waits. Of one who is to fetch only, without a byte: the answer tells whether Redis knew of its wait. `record` must
  // outlive this object.
  void unblock(const SlotRecord& record);

  // False for some minutes after Redis has refused it, for what its rules say.
  bool allowed() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace brood
