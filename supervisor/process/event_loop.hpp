#pragma once

#include <sys/signalfd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"

struct uv_loop_s;

namespace brood {

// The supervisor's one loop.  Nothing registered here may wait; no libuv call that uses its thread pool is ever made.
class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Waits until something happens and dispatches it.
  void run_once();

  uv_loop_s* raw() { return loop_.get(); }

 private:
  struct Close {
    void operator()(uv_loop_s*) const;
  };
  std::unique_ptr<uv_loop_s, Close> loop_;
};

// For a child that has no loop.  Call it before closing the parent's descriptors: otherwise libuv, at each later fork
// in the child, would close two descriptors by the numbers of the parent's loop.  Other files may have these numbers.
void forget_event_loops();

// Calls back once, later.  Destroying it cancels it; restarting moves it.
//
// Each part of the supervisor owns its timers, so no part has to report when it wants to act next.  A part that talks
// to Redis or to clients acts in its timer's callback.  A part that handles processes acts in the supervisor's turn,
// where the order matters: its timer has no callback, only causes a turn, and is set anew whenever the part has acted.
class Timer {
 public:
  explicit Timer(EventLoop& loop, std::function<void()> callback = nullptr);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void start_in(std::chrono::nanoseconds delay);  // rounded up to milliseconds
  void start_at(std::optional<SteadyTime> at);    // nullopt: stops
  void stop();
  bool running() const;

 private:
  struct Handle;
  Handle* handle_;
};

// Calls back while a descriptor is readable or writable (or at its end).  Does not own the descriptor, and must be
// destroyed before the descriptor is closed.
class FdWatch {
 public:
  enum Events { readable = 1, writable = 2 };
  FdWatch(EventLoop& loop, int fd, int events, std::function<void(int events)> callback);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

 private:
  struct Handle;
  Handle* handle_;
};

// Blocks every signal that the supervisor handles, until a SignalSource reads them.
void hold_back_signals();

// Every signal that the supervisor handles, blocked from its construction on and read from a signalfd: nothing is lost
// across an exec, and the sender's pid is known.  SIGPIPE is ignored.
class SignalSource {
 public:
  SignalSource(EventLoop& loop, std::function<void(const signalfd_siginfo&)> callback);

 private:
  UniqueFd fd_;
  std::unique_ptr<FdWatch> watch_;
};

}  // namespace brood
