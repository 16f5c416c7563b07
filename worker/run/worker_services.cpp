#include "worker/run/worker_services.hpp"

#include <utility>

#include "shared/base/redis_clock.hpp"
#include "shared/store/batches/flow.hpp"
#include "shared/store/redis_time.hpp"
#include "worker/job/settle_failed_job.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_look_at_fleet = 2000ms;

}  // namespace

WorkerServices::WorkerServices(Workplace& place, Channel& redis, LimitPlaces& limits,
                               std::function<LimitHolder()> holder)
    : place_(place),
      redis_(redis),
      iterations_(redis),
      limits_(limits, std::move(holder), [this](std::chrono::milliseconds length) { return may_wait(length); }),
      batches_(redis) {}

// Waits, and returns whether the job may go on waiting; false: the run or the worker must end.
bool WorkerServices::may_wait(std::chrono::milliseconds length) {
  if (length.count() > 0) place_.orders.wait(length);
  const auto deadline = place_.slot.deadline();
  return !place_.orders.told_to_quiet() && (!deadline || *deadline > steady_now());
}

std::optional<IterationState> WorkerServices::load_iteration() {
  return iterations_.load(job_->jid(), [this](std::chrono::milliseconds length) { return may_wait(length); });
}

bool WorkerServices::save_iteration(const IterationState& state) { return iterations_.save(job_->jid(), state); }

FailureRule WorkerServices::failure_rule() {
  const WallTime now = redis_time();
  const AskRedis ask = [this](const std::vector<Command>& commands) {
    return redis_.call_patiently(commands, {longest_look_at_fleet, longest_look_at_fleet});
  };
  return {rule_of_retry_for(*job_, place_.config.compatibility.sidekiq, fleet_, ask), now};
}

LimitResult WorkerServices::take_limits(const WantedLimits& wanted, const std::function<bool()>& is_wanted) {
  return limits_.take(wanted.limits, wanted.wait, is_wanted);
}

void WorkerServices::give_back_limits(const std::vector<LimitUse>& uses) { limits_.give_back(uses); }

std::optional<std::string> WorkerServices::step_result(std::string_view bid, std::string_view step) {
  try {
    const auto replies =
        redis_.call_patiently({ask_step_result(bid, step)}, {longest_look_at_fleet, longest_look_at_fleet});
    const ReplyView reply = replies.front().view();
    return reply.is_string() ? std::optional(std::string(reply.text())) : std::nullopt;
  } catch (const ConnectionLost&) {
    return std::nullopt;
  }
}

WallTime WorkerServices::redis_time() {
  ask_redis_time(redis_);
  return redis_now();
}

}  // namespace brood
