#include "supervisor/operator_signals.hpp"

#include <csignal>
#include <string>

#include "shared/base/log.hpp"
#include "shared/base/signal_names.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto one_wish = 100ms;

}  // namespace

OperatorSignals::OperatorSignals(EventLoop& loop, const OwnProcesses& own)
    : own_(own), source_(loop, [this](const signalfd_siginfo& signal) {
        waiting_.push_back({signal, steady_now()});
      }) {}

std::optional<OperatorSignals::Wish> OperatorSignals::next() {
  while (!waiting_.empty()) {
    const Came came = waiting_.front();
    waiting_.pop_front();
    if (const auto wish = wish_of(came)) return wish;
  }
  return std::nullopt;
}

std::optional<OperatorSignals::Wish> OperatorSignals::wish_of(const Came& came) {
  const signalfd_siginfo& signal = came.signal;
  if (signal.ssi_signo == SIGCHLD) return Wish::child_changed;
  const auto sender = static_cast<pid_t>(signal.ssi_pid);
  const std::string name = signal_name(static_cast<int>(signal.ssi_signo));
  if (own_.is_jobs(sender)) {
    log::warn("signal_from_a_job_ignored", {{"signal", name}, {"pid", sender}});
    return std::nullopt;
  }
  log::info("signal", {{"signal", name}, {"from_pid", sender}});
  switch (signal.ssi_signo) {
    case SIGTERM:
    case SIGINT:
      return repeats_the_stop(sender, came.when) ? std::nullopt : std::optional(Wish::stop);
    case SIGTSTP:
      return Wish::quiet;
    case SIGHUP:
    case SIGUSR1:
      return Wish::restart;
    case SIGUSR2:
      return Wish::upgrade;
    case SIGTTIN:
      return Wish::log_stacks;
    default:
      log::warn("signal_has_no_meaning_here", {{"signal", name}});
      return std::nullopt;
  }
}

// timeout(1) and some container runtimes send one TERM to the process and at once another to its group.  Both together
// are one stop, while an operator's second TERM kills.
bool OperatorSignals::repeats_the_stop(pid_t sender, SteadyTime now) {
  if (sender == stop_sender_ && now - stop_came_ < one_wish) return true;
  stop_sender_ = sender;
  stop_came_ = now;
  return false;
}

}  // namespace brood
