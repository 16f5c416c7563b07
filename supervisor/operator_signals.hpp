#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>

#include "shared/base/clock.hpp"
#include "supervisor/phase.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// What operators and service managers wish for by signals.
class OperatorSignals {
 public:
  struct Hooks {
    std::function<bool(pid_t)>
        is_ours;  // a child, or what a child has started: a job may have sent it, and it is not heeded
    std::function<void(Order)> order;
    std::function<void()> restart, upgrade, log_stacks;
    std::function<void()> child_changed;  // SIGCHLD; one may stand for several
  };
  OperatorSignals(EventLoop& loop, Hooks hooks);

  // Those that have come.
  void handle();

 private:
  void handle(const signalfd_siginfo& signal);
  bool repeats_the_stop(pid_t sender);

  Hooks hooks_;
  std::deque<signalfd_siginfo> waiting_;
  pid_t stop_sender_ = 0;  // of the last TERM or INT
  SteadyTime stop_came_{};
  SignalSource source_;
};

}  // namespace brood
