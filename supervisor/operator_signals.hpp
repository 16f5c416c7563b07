#pragma once

#include <sys/types.h>

#include <deque>
#include <optional>

#include "shared/base/clock.hpp"
#include "supervisor/own_processes.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// The requests of operators and service managers that arrive as signals.
class OperatorSignals {
 public:
  enum class Wish {
    stop,
    quiet,
    restart,
    upgrade,
    log_stacks,
    child_changed,  // SIGCHLD, which no operator sends; one may stand for several
  };
  // Ignores signals from our children and their descendants: a job may have sent them.
  OperatorSignals(EventLoop& loop, const OwnProcesses& own);

  // The next request; nullopt if none is left.
  std::optional<Wish> next();

 private:
  struct Came {
    signalfd_siginfo signal;
    SteadyTime when;
  };
  std::optional<Wish> wish_of(const Came& came);
  bool repeats_the_stop(pid_t sender, SteadyTime now);

  const OwnProcesses& own_;
  std::deque<Came> waiting_;
  pid_t stop_sender_ = 0;  // of the last TERM or INT
  SteadyTime stop_came_{};
  SignalSource source_;
};

}  // namespace brood
