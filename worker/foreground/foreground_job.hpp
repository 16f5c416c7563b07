#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "shared/config/config.hpp"
#include "shared/job/payload.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "worker/crash/crash_reporter.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/lifecycle.hpp"
#include "worker/job/perform.hpp"

namespace brood {

// Runs one job in this process, for its author to write or debug it: without supervisor, fork, Redis, seccomp filter
// and syscall watch.  Standard input, output and error are the job's own.  INT and TERM make stopping() true (a program
// gets TERM); the second signal ends this process.  Nothing is settled.  Use it once in a process, from the main
// thread.
class ForegroundJob {
 public:
  struct Limits {
    std::optional<std::chrono::milliseconds> timeout = {};  // nullopt: the job's own; 0: none
    std::uint64_t memory_bytes = 0;                         // 0: no limit
  };
  struct Run {
    Performed performed;
    JobUsage usage;
  };

  // Loads the libraries of `config`, which must outlive this object, and starts them as a worker does.  From here on a
  // crash is reported.  Throws LibraryError.
  explicit ForegroundJob(const Config& config);

  const JobRegistry& registry() const { return registry_; }

  // Performs the job within middleware, then runs the events of a worker's end.  If the job ends the process, that is
  // reported as report_own_crash() describes.
  Run perform(const Payload& job, const std::string& queue, const Limits& limits);

 private:
  void end_if_a_copy() const;

  const pid_t self_ = getpid();
  const Config& config_;
  SlotRecord& record_;
  JobRegistry registry_;
  Lifecycle lifecycle_;
};

}  // namespace brood
