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

// Runs one job in this process, to write or debug it: without supervisor, fork, Redis, seccomp filter and
// syscall watch.  Standard input, output and error are the job's own.  INT and TERM make stopping() true (a program
// gets TERM); the second ends this process.  Nothing is settled.  Once in a process, from its main thread.
class ForegroundJob {
 public:
  struct Limits {
    std::optional<std::chrono::milliseconds> timeout = {};  // nullopt: the job's own; 0: none
    std::uint64_t memory_bytes = 0;                         // 0: as much as there is
  };
  struct Run {
    Performed performed;
    JobUsage usage;
  };

  // Loads the libraries of `config`, which must outlive this, and starts them as a worker does.  Throws LibraryError; a
  // crash is reported from here on.
  explicit ForegroundJob(const Config& config);

  const JobRegistry& registry() const { return registry_; }

  // Performs it within middleware, then runs the events of a worker's end.  An end that does not return is reported as
  // report_own_crash() says.
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
