#pragma once

#include <functional>
#include <memory>

#include "shared/redis/async_connection.hpp"
#include "shared/store/known_queues.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Which queues Redis knows, and which of them are paused: looked at when it is told of a change, and every five
// seconds. Where nobody tells it, it looks every second, and for new queues ten times a second while a worker of all
// queues has nothing to do.  With Redis away what was known holds; a set that is none is empty.
class KnownQueuesWatch {
 public:
  // `changed` is told after the workers.
  KnownQueuesWatch(EventLoop& loop, AsyncConnection& redis, QueueWorkers& workers,
                   std::function<void(const KnownQueues&)> changed);
  ~KnownQueuesWatch();
  KnownQueuesWatch(const KnownQueuesWatch&) = delete;
  KnownQueuesWatch& operator=(const KnownQueuesWatch&) = delete;

  // Whether some capsule takes every queue: otherwise their names are not asked for.
  void follow_names(bool follow);

  // Begins, or looks now: something has changed.  From then on it goes by itself.
  void look();

  // Whether look() is called for every change from now on.
  void rely_on_being_told(bool told);
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace brood
