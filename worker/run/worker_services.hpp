#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "worker/admission/cancelled_batches.hpp"
#include "worker/isolation/job_services.hpp"
#include "worker/job/iteration_keeper.hpp"
#include "worker/job/limit_keeper.hpp"
#include "worker/run/workplace.hpp"

namespace brood {

// The services of a worker to its jobs, over its connections, which are idle while a job runs.
class WorkerServices : public JobServices {
 public:
  // `holder`: see LimitKeeper.
  WorkerServices(Workplace& place, Channel& redis, LimitPlaces& limits, std::function<LimitHolder()> holder);

  // Serves this job from now on; it must live until the next call.
  void serve(const Payload& job) { job_ = &job; }

  std::optional<IterationState> load_iteration() override;
  bool save_iteration(const IterationState& state) override;
  FailureRule failure_rule() override;
  LimitResult take_limits(const WantedLimits& wanted, const std::function<bool()>& is_wanted) override;
  void give_back_limits(const std::vector<LimitUse>& uses) override;
  std::optional<std::string> step_result(std::string_view bid, std::string_view step) override;
  bool batch_cancelled(std::string_view bid) override { return batches_.is_cancelled(bid); }
  void note_progress(const JobProgress& progress) override { place_.slot.set_progress(progress); }

  // Call it when the job is done, and its slot shows that.
  void drop_iteration() { iterations_.drop(job_->jid()); }
  // Before a settle: saves the states of iterable jobs that Redis has not taken yet.  `pause` throws to give up.
  bool has_unsaved_iteration() const { return iterations_.has_unsaved_cursor(); }
  void save_iterations(const std::function<void(std::chrono::milliseconds)>& pause) { iterations_.deliver(pause); }

  WallTime redis_time();
  void forget_shard() { fleet_ = {}; }
  void disconnect() { redis_.disconnect(); }

 private:
  bool may_wait(std::chrono::milliseconds length);

  Workplace& place_;
  Channel& redis_;
  IterationKeeper iterations_;
  LimitKeeper limits_;
  CancelledBatches batches_;
  FleetRelease fleet_;
  const Payload* job_ = nullptr;
};

}  // namespace brood
