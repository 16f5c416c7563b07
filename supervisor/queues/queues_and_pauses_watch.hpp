#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/queues/queue_workers.hpp"

namespace brood {

// Which queues Redis knows, and which queues and job classes are paused.
//
// It looks at each reported change and every five seconds.  Without reports it looks every second, and for new queues
// ten times a second while a worker that takes all queues is idle.  While Redis is away or our user may not read the
// keys, the last answer holds.  A key that is no set counts as an empty one.
class QueuesAndPausesWatch {
 public:
  // Calls `changed` after the workers.
  QueuesAndPausesWatch(EventLoop& loop, AsyncConnection& redis, QueueWorkers& workers,
                       std::function<void(const KnownQueues&)> changed);
  QueuesAndPausesWatch(const QueuesAndPausesWatch&) = delete;
  QueuesAndPausesWatch& operator=(const QueuesAndPausesWatch&) = delete;

  // `follow` if some capsule takes every queue.  Otherwise the names of queues are not read.
  void follow_names(bool follow);

  // Call this to begin, or to look now because something has changed.  Then it repeats by itself.
  void look();

  // While changes are reported, looks `times` times more rarely.
  void slow_down(int times) { pace_ = times; }

  // `read` is called each time that the paused classes have been read, whether they have changed or not.
  void on_classes(std::function<void(const NameSet&)> read) { classes_were_read_ = std::move(read); }

  // Whether look() is called for every change from now on.  If not, it polls.
  void rely_on_reports(bool told);
  void stop();

 private:
  std::chrono::nanoseconds between_looks() const;
  void look_anew();
  void tick();
  bool is_time_for_classes() const;
  void read(bool asked_for_paused, bool asked_for_classes, const std::vector<AsyncConnection::Result>& results);
  void ask_for_names();
  void read_paused_queues(const AsyncConnection::Result& result);
  void read_paused_classes(const AsyncConnection::Result& result);
  void read_names(const AsyncConnection::Result& result);
  void look_later();
  void tell(bool others_are_paused);

  AsyncConnection::Scope redis_;
  QueueWorkers& workers_;
  const std::function<void(const KnownQueues&)> changed_;
  std::function<void(const NameSet&)> classes_were_read_;
  Timer next_;
  bool watching_ = false, asking_ = false, look_again_ = false;
  bool is_told_ = false;
  int pace_ = 1;
  bool follows_names_ = false;
  KnownQueues known_;
  std::int64_t count_ = -1;
  bool may_be_published_ = true;  // so that not all names need be read
  SteadyTime paused_read_{}, classes_read_{}, names_read_{};
  SteadyTime names_not_before_{};  // reading many names takes time in Redis and in all workers
  bool names_are_old_ = false;
  bool knows_paused_ = false;  // until then workers of the previous program may know more than we do
  bool said_no_set_ = false, said_no_classes_ = false;
  std::vector<std::string> said_unsafe_;
};

}  // namespace brood
