#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <brood/report.hpp>
#include <brood/testing/jobs.hpp>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/iteration.hpp"
#include "worker/job/job_host.hpp"
#include "worker/job/perform.hpp"

namespace brood::testing {

// How a run has ended.
struct Ran {
  // It is set too for a job that expired before it began; then its on_expired hook was called instead.  nullopt: the
  // job was interrupted.
  std::optional<JobEnding> ending;
  bool performed = true;
  std::string record = {};         // the payload with its failure; empty: the job is not stored
  std::exception_ptr thrown = {};  // see Fake::drain(); null: drain() throws nothing
};

// Performs jobs in this process, and keeps the cursors of iterable jobs in memory.  Any thread may call it.
class JobRunner {
 public:
  // Running jobs call `batch_cancelled`.
  JobRunner(Jobs jobs, std::function<bool(std::string_view bid)> batch_cancelled);

  // `due` is the time of a scheduled job, which begins no earlier.
  Ran run(const std::string& payload, const std::string& queue, std::optional<WallTime> due = {});

  std::int64_t cancel_iteration(std::string_view jid, std::int64_t now_epoch_seconds);
  void forget_iterations();
  // Returns the report of a job with `keep_result`; nullopt: the job has not run.
  std::optional<JobReport> report(std::string_view jid) const;
  // Returns the last progress that the job noted in its last run; nullopt: it has noted none.
  std::optional<JobProgress> progress(std::string_view jid) const;
  void reach_limit(std::string_view name);
  void free_limit(std::string_view name);

 private:
  JobHost host_of(const Payload& job, JobReport& report);
  void keep(const Payload& job, JobReport report);
  std::optional<std::string> step_result(std::string_view bid, std::string_view step) const;
  // Runs the job again until it no longer interrupts itself.
  Performed perform_whole(const Payload& job, const std::string& queue, JobReport& report);
  Ran fail(const Payload& job, const std::string& queue, const Failure& failure) const;
  std::exception_ptr thrown_by(const Payload& job, const Failure& failure) const;
  IterationState iteration(const std::string& jid) const;
  LimitResult take_limits(const std::vector<Limit>& limits) const;

  const Jobs jobs_;
  const std::function<bool(std::string_view)> batch_cancelled_;
  mutable std::mutex mutex_;  // of what follows
  std::map<std::string, IterationState, std::less<>> iterations_;
  std::map<std::string, JobReport, std::less<>> reports_;
  std::map<std::pair<std::string, std::string>, std::string> step_results_;  // by the bid and the step's name
  std::map<std::string, JobProgress, std::less<>> progress_;
  std::set<std::string, std::less<>> reached_limits_;
};

}  // namespace brood::testing
