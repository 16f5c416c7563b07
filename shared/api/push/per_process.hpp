#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace brood {

// One T per process, used by one thread at a time.  A forked child gets a T of its own: its parent's holds a socket on
// which both would talk at once, and another thread may have been changing it during the fork.  T::leave_to_parent()
// drops what the parent keeps using, and leaves it open there.
template <typename T>
class PerProcess {
 public:
  explicit PerProcess(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)), own_(new Own{make_()}) {}
  ~PerProcess() {
    Own* const own = own_;
    if (own->pid == getpid() || own->release()) delete own;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  template <typename Use>
  auto use(Use use) {
    Own& own = mine();
    const std::lock_guard lock(own.mutex);
    return use(*own.value);
  }

 private:
  struct Own {
    std::unique_ptr<T> value;
    pid_t pid = getpid();
    std::mutex mutex = {};
    std::unique_ptr<Own> inherited = {};  // another thread may just be looking at it

    // Returns false if a thread that the child does not have was changing the value: then it must not even be
    // destroyed.
    bool release() {
      if (!mutex.try_lock()) return false;
      value->leave_to_parent();
      mutex.unlock();
      return true;
    }
  };

  Own& mine() {
    Own* own = own_;
    while (own->pid != getpid()) {
      auto fresh = std::unique_ptr<Own>(new Own{make_()});
      if (!own_.compare_exchange_strong(own, fresh.get())) continue;
      if (own->release()) fresh->inherited.reset(own);
      own = fresh.release();
    }
    return *own;
  }

  std::function<std::unique_ptr<T>()> make_;
  std::atomic<Own*> own_;
};

}  // namespace brood
