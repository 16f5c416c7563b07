#include "supervisor/operator_signals.hpp"

#include <csignal>
#include <string>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/signal_names.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto one_wish = 100ms;

}  // namespace

OperatorSignals::OperatorSignals(EventLoop& loop, Hooks hooks)
    : hooks_(std::move(hooks)), source_(loop, [this](const signalfd_siginfo& signal) { waiting_.push_back(signal); }) {}

void OperatorSignals::handle() {
  while (!waiting_.empty()) {
    const signalfd_siginfo signal = waiting_.front();
    waiting_.pop_front();
    handle(signal);
  }
}

void OperatorSignals::handle(const signalfd_siginfo& signal) {
  if (signal.ssi_signo == SIGCHLD) return hooks_.child_changed();
  const auto sender = static_cast<pid_t>(signal.ssi_pid);
  const std::string name = signal_name(static_cast<int>(signal.ssi_signo));
  if (hooks_.is_ours(sender)) {
    log::warn("signal_from_own_child_ignored", {{"signal", name}, {"pid", sender}});
    return;
  }
  log::info("signal", {{"signal", name}, {"from_pid", sender}});
  switch (signal.ssi_signo) {
    case SIGTERM:
    case SIGINT:
      if (!repeats_the_stop(sender)) hooks_.order(Order::stop);
      break;
    case SIGTSTP:
      hooks_.order(Order::quiet);
      break;
    case SIGHUP:
    case SIGUSR1:
      hooks_.restart();
      break;
    case SIGUSR2:
      hooks_.upgrade();
      break;
    case SIGTTIN:
      hooks_.log_stacks();
      break;
    default:
      log::warn("signal_has_no_meaning_here", {{"signal", name}});
      break;
  }
}

// timeout(1) and some container runtimes send one TERM to the process and at once the same to its group: that is one
// wish, while an operator's second TERM kills.
bool OperatorSignals::repeats_the_stop(pid_t sender) {
  const SteadyTime now = steady_now();
  const bool repeated = sender == stop_sender_ && now - stop_came_ < one_wish;
  stop_sender_ = sender;
  stop_came_ = now;
  return repeated;
}

}  // namespace brood
