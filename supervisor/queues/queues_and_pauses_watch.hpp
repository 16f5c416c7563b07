#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Which queues Redis knows, and which of them are paused: looked at when it is told of a change, and every five
// seconds. Where nobody tells it, it looks every second, and for new queues ten times a second while a worker of all
// queues has nothing to do.  With Redis away what was known holds; a set that is none is empty.
class QueuesAndPausesWatch {
 public:
  // `changed` is told after the workers.
  QueuesAndPausesWatch(EventLoop& loop, AsyncConnection& redis, QueueWorkers& workers,
                       std::function<void(const KnownQueues&)> changed);
  QueuesAndPausesWatch(const QueuesAndPausesWatch&) = delete;
  QueuesAndPausesWatch& operator=(const QueuesAndPausesWatch&) = delete;

  // Whether some capsule takes every queue: otherwise their names are not asked for.
  void follow_names(bool follow);

  // Begins, or looks now: something has changed.  From then on it goes by itself.
  void look();

  // Where it is told of changes, it looks so many times as rarely as it would.
  void slow_down(int times) { pace_ = times; }

  // Whether look() is called for every change from now on.
  void rely_on_being_told(bool told);
  void stop();

 private:
  std::chrono::nanoseconds between_looks() const;
  void look_anew();
  void tick();
  void read(bool asked_for_paused, const std::vector<AsyncConnection::Result>& results);
  void ask_for_names();
  void read_paused(const AsyncConnection::Result& result);
  void read_names(const AsyncConnection::Result& result);
  void look_later();
  void tell(bool others_are_paused);

  AsyncConnection::Scope redis_;
  QueueWorkers& workers_;
  const std::function<void(const KnownQueues&)> changed_;
  Timer next_;
  bool watching_ = false, asking_ = false, look_again_ = false;
  bool is_told_ = false;
  int pace_ = 1;
  bool follows_names_ = false;
  KnownQueues known_;
  std::int64_t count_ = -1;
  SteadyTime paused_read_{}, names_read_{};
  bool knows_paused_ = false;  // workers that another program has left may know better
  bool said_no_set_ = false;
  std::vector<std::string> said_unsafe_;
};

}  // namespace brood
