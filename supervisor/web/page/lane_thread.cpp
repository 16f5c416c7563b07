#include "supervisor/web/page/lane_thread.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "shared/base/check.hpp"

namespace brood {

LaneThread::LaneThread(EventLoop& loop, std::size_t most_waiting)
    : most_waiting_(most_waiting),
      bell_(check("eventfd", eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      watch_(loop, bell_.get(), FdWatch::readable, [this](int) { hear_done(); }),
      thread_([this] { run(); }) {}

LaneThread::~LaneThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.clear();
  }
  wake_.notify_one();
  thread_.join();
}

bool LaneThread::add(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting_) return false;
    waiting_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

void LaneThread::run() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
      if (ends_) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    task.work();
    {
      const std::lock_guard lock(mutex_);
      done_.push_back(std::move(task.done));
    }
    const std::uint64_t one = 1;
    // If it is full, the loop wakes anyway.
    [[maybe_unused]] const ssize_t rung = write(bell_.get(), &one, sizeof one);
  }
}

void LaneThread::hear_done() {
  std::uint64_t rung = 0;
  [[maybe_unused]] const ssize_t size = read(bell_.get(), &rung, sizeof rung);
  std::deque<std::function<void()>> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (const auto& one : done) one();
}

}  // namespace brood
