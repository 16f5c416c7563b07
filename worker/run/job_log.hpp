#pragma once

#include <set>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "worker/run/job_code.hpp"
#include "worker/run/job_run.hpp"

namespace brood {

// Writes the lines of the log about each job, with warnings about odd ones.
class JobLog : public Stage {
 public:
  JobLog(const Config& config, const JobCode& code) : config_(config), code_(code) {}

  void begin(const JobRun& run) override;
  void settled(const JobRun& run) override;  // no later line has this run's facts

  log::Level level() const { return config_.log_jobs ? log::Level::info : log::Level::debug; }
  void done(const JobRun& run) const { say_how_long("job_done", run); }
  void interrupted(const JobRun& run) const { say_how_long("job_interrupted", run); }
  void over_limit(const JobRun& run) const;
  void failed(const JobRun& run) const;
  void deferred(std::string_view event, const Payload& job, const std::string& queue) const;  // or dropped

 private:
  void say_how_long(std::string_view event, const JobRun& run) const;
  void warn_of_clear_job(const JobRun& run);
  void warn_of_foreign_batch(const JobRun& run);
  void warn_of_ignored_options(const JobRun& run);

  const Config& config_;
  const JobCode& code_;
  std::set<std::string> came_in_clear_;  // classes with a job that came in clear
  OnceAMinute foreign_batches_, ignored_options_;
};

}  // namespace brood
