#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/sidekiq_release.hpp"
#include "shared/store/iteration.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "worker/job/job_host.hpp"

namespace brood {

struct WantedLimits {
  std::vector<Limit> limits;
  std::chrono::milliseconds wait{0};
};

struct FailureRule {
  RetryFor retry_for = RetryFor::alone;
  WallTime now{};  // by Redis
};

// The services of Redis to the run under way.  A worker uses its own connection; the process of one job asks its
// worker.
class JobServices {
 public:
  virtual ~JobServices() = default;

  // Loads the state of an iterable job; nullopt: the worker leaves before Redis has answered.  Throws UnexpectedReply.
  virtual std::optional<IterationState> load_iteration() = 0;
  // Saves the state.  Returns true if the job was cancelled.
  virtual bool save_iteration(const IterationState& state) = 0;
  // The rule of `retry_for` for a failed job, and the time.
  virtual FailureRule failure_rule() = 0;
  // Takes limits.  Stops asking once `is_wanted` returns false.
  virtual LimitResult take_limits(const WantedLimits& wanted, const std::function<bool()>& is_wanted) = 0;
  virtual void give_back_limits(const std::vector<LimitUse>& uses) = 0;
  // The result of a step of its flow, as JSON.  nullopt: the step has left none, or Redis is away.
  virtual std::optional<std::string> step_result(std::string_view bid, std::string_view step) = 0;
  // Whether its batch was cancelled; false while Redis is away.
  virtual bool batch_cancelled(std::string_view bid) = 0;
  // Notes the progress of the run under way.
  virtual void note_progress(const JobProgress& progress) = 0;
};

}  // namespace brood
