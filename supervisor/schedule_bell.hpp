#pragma once

#include <functional>
#include <memory>

#include "shared/redis/async_connection.hpp"
#include "supervisor/event_loop.hpp"

namespace brood {

// Hears at once of what our own clients push to `schedule`: they ring after each such push, and one supervisor of all
// that listen has it.  A ring that nobody hears is lost; the scheduler's glances find the same a little later.
class ScheduleBell {
 public:
  // Listens on a connection of its own, to the address that `redis` is connected to.
  ScheduleBell(EventLoop& loop, AsyncConnection& redis, std::function<void()> rung);
  ~ScheduleBell();
  ScheduleBell(const ScheduleBell&) = delete;
  ScheduleBell& operator=(const ScheduleBell&) = delete;

  // Begins; and again whenever Redis is there again, perhaps elsewhere.
  void listen();

  // Hears no more, and closes its connection.
  void stop();

 private:
  void wait();

  AsyncConnection& redis_;
  const std::function<void()> rung_;
  EventLoop& loop_;
  std::unique_ptr<AsyncConnection> own_;
  Timer again_;
};

}  // namespace brood
