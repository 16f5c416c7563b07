#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace brood::interleavings {

// Thrown inside an actor at the point where it is killed.  It is not a std::exception, so no product code catches it.
class Killed {};

// A thread that runs only while it holds the one baton.  It runs ordinary product code, and hands the baton back
// wherever something else could happen.  So a run is one sequence of steps, the same for the same seed.
class Actor {
 public:
  explicit Actor(std::function<void(Actor&)> life) : thread_([this, life = std::move(life)] { run(life); }) {}
  ~Actor() {
    kill();
    thread_.join();
  }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  // Called by the scheduler: lets the actor run up to its next yield or its end.
  void resume() {
    if (done_) return;
    mine_.release();
    back_.acquire();
  }

  // Called by the scheduler: the actor ends at this point and does nothing more.
  void kill() {
    killed_ = true;
    resume();
  }

  // Called by the actor.
  void yield() {
    back_.release();
    mine_.acquire();
    if (killed_) throw Killed{};
  }

  bool done() const { return done_; }
  const std::string& error() const { return error_; }  // the exception that ended it; empty if it was killed

 private:
  void run(const std::function<void(Actor&)>& life) {
    mine_.acquire();
    try {
      if (!killed_) life(*this);
    } catch (const Killed&) {
    } catch (const std::exception& e) {
      error_ = e.what();
    }
    done_ = true;
    back_.release();
  }

  // Like std::binary_semaphore, but without spinning before it sleeps: that is useless while the other thread works.
  class Baton {
   public:
    void release() {
      {
        const std::lock_guard lock(mutex_);
        there_ = true;
      }
      arrived_.notify_one();
    }
    void acquire() {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return there_; });
      there_ = false;
    }

   private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    bool there_ = false;
  };

  Baton mine_, back_;
  bool killed_ = false, done_ = false;
  std::string error_;
  std::thread thread_;
};

}  // namespace brood::interleavings
