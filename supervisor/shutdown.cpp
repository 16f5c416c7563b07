#include "supervisor/shutdown.hpp"

#include <algorithm>

#include "shared/base/log.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_to_recover = 1500ms;
constexpr auto time_for_redis = 10s;
constexpr auto look_at_redis = 20ms;  // one that another supervisor started is nobody's child

}  // namespace

void Shutdown::begin(SteadyTime now) {
  if (step_ != Step::not_yet) return;
  orphan_watch_.stop();
  step_ = Step::recovering;
  deadline_ = now + time_to_recover;
}

void Shutdown::advance(SteadyTime now) {
  go_on(now);
  wake_.start_at(next_look(now));
}

void Shutdown::go_on(SteadyTime now) {
  switch (step_) {
    case Step::recovering:
      recover(now);
      return;
    case Step::stopping_redis:
      if (redis_.server_runs() && now < deadline_) return;
      if (redis_.server_runs()) redis_.kill_server();
      step_ = Step::done;
      return;
    case Step::not_yet:
    case Step::reporting:
    case Step::done:
      return;
  }
}

void Shutdown::recover(SteadyTime now) {
  if (recovered_our_own()) {
    step_ = Step::reporting;
    heartbeat_.finish([this] { stop_redis(steady_now()); });
  } else if (!redis_.connected() || now >= deadline_) {
    log::warn("jobs_left_in_flight", {{"reason", "Redis does not answer; the next start recovers them"}});
    stop_redis(now);
  }
}

void Shutdown::stop_redis(SteadyTime now) {
  step_ = redis_.stop_server() ? Step::stopping_redis : Step::done;
  deadline_ = now + time_for_redis;
}

std::optional<SteadyTime> Shutdown::next_look(SteadyTime now) const {
  if (step_ == Step::recovering) return deadline_;
  if (step_ == Step::stopping_redis) return std::min(deadline_, now + look_at_redis);
  return std::nullopt;
}

}  // namespace brood
