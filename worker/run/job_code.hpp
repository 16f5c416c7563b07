#pragma once

#include <cstdint>
#include <optional>

#include "shared/config/config.hpp"
#include "shared/store/outcome.hpp"
#include "worker/guard/job_meter.hpp"
#include "worker/guard/memory_limit.hpp"
#include "worker/guard/syscall_watch.hpp"
#include "worker/isolation/job_services.hpp"
#include "worker/job/job_host.hpp"
#include "worker/run/job_run.hpp"
#include "worker/run/run_clock.hpp"
#include "worker/run/workplace.hpp"

namespace brood {

// Runs the code of jobs in this process, within their limits: in a worker's, and in the one that is forked for one job.
class JobCode {
 public:
  // After install_crash_handler(), and before any library is loaded.
  JobCode(Workplace& place, JobServices& services, JobMeter& meter);

  // Once the libraries are loaded.  0: no limit.
  void limit_memory(std::uint64_t bytes) { memory_limit_.emplace(bytes); }
  // This process runs a single job, which asks `services`.
  void become_a_job(JobServices& services);

  // A run begins that may take so long; nullopt: for ever.
  void set_timeout(std::optional<std::chrono::milliseconds> timeout) { host_.timeout = timeout; }
  // Decrypts its arguments, in the process that performs it and nowhere else.
  void open(JobRun& run);
  void perform(JobRun& run);
  // What becomes of a job that failed: with `ask_hooks` its class's hooks and all handlers run.
  Outcome judge(JobRun& run, bool ask_hooks = true);

  // Whether a job of a class that encrypts came in clear.
  bool came_in_clear(const Payload& job) const;

  RunClock& clock() { return clock_; }
  JobHost& host() { return host_; }

 private:
  IterationHost iteration_host();
  LimitHost limit_host();
  void end_if_a_copy() const;
  Performed perform_within_limits(JobRun& run);
  Performed perform_watched(JobRun& run);
  Performed run_program(const CommandSettings& program, const JobRun& run);
  void run_expired_hook(const JobRun& run);
  template <typename Code>
  void watched(JobRun& run, Code code);

  Workplace& place_;
  JobServices* services_;
  JobMeter& meter_;
  SyscallWatch watch_;
  bool watches_ = true;
  RunClock clock_;
  JobHost host_;
  std::optional<MemoryLimit> memory_limit_;
  JobRun* run_ = nullptr;  // under way
};

// What one process may have of the host's memory, in bytes.
std::uint64_t share_of_host(const Workplace& place);

}  // namespace brood
