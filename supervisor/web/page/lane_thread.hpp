#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "shared/base/unique_fd.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// A thread that does one task after the other, beside the loop, for work that may wait for Redis or a supervisor.
class LaneThread {
 public:
  // Runs `work` in the thread, then `done` in the loop's thread.
  struct Task {
    std::function<void()> work, done;
  };

  LaneThread(EventLoop& loop, std::size_t most_waiting);
  ~LaneThread();  // waits for the present task; drops the waiting ones
  LaneThread(const LaneThread&) = delete;
  LaneThread& operator=(const LaneThread&) = delete;

  // Returns false if too many tasks wait already.
  bool add(Task task);

 private:
  void run();
  void hear_done();

  const std::size_t most_waiting_;
  UniqueFd bell_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> waiting_;
  std::deque<std::function<void()>> done_;
  bool ends_ = false;
  FdWatch watch_;
  std::thread thread_;
};

}  // namespace brood
