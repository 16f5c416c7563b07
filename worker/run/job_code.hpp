#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/config/config.hpp"
#include "shared/job/payload.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/outcome.hpp"
#include "worker/guard/job_meter.hpp"
#include "worker/guard/memory_limit.hpp"
#include "worker/guard/syscall_watch.hpp"
#include "worker/isolation/job_services.hpp"
#include "worker/job/item_clock.hpp"
#include "worker/job/job_host.hpp"
#include "worker/job/perform.hpp"
#include "worker/run/job_run.hpp"
#include "worker/run/workplace.hpp"

namespace brood {

// How long the run under way may still take.  Its deadline is in the slot, where the supervisor reads it.
class RunClock {
 public:
  explicit RunClock(WorkerSlot& slot) : slot_(slot) {}

  // Call it in a sandbox, from which the deadline cannot be moved.
  void fix_deadline() { moves_deadline_ = false; }
  bool moves_deadline() const { return moves_deadline_; }

  void begin(SteadyTime now, std::optional<std::chrono::milliseconds> timeout) {
    items_.begin(now, timeout ? timeout : time_left());
  }
  std::optional<std::chrono::milliseconds> time_left() const;  // nullopt: no deadline
  bool out_of_time() const { return time_left().value_or(std::chrono::milliseconds(1)).count() <= 0; }
  void set_time_left(std::chrono::milliseconds left);

  // Between two items of an iterable job, each of which has all of the timeout.  Returns whether the run ends here.
  bool ends_between_items();
  // Whether the run, or one of its items, took longer than it may.
  bool was_too_long() const;

 private:
  WorkerSlot& slot_;
  ItemClock items_;
  bool moves_deadline_ = true;
};

// The failure of a job that found no memory any more.
Failure out_of_memory(std::string message);

// Judges a job which the kernel has killed, or its program, when the host had no memory left and no limit of its own
// was reached.  As with the end of a worker, it failed if it used more than `share_bytes`, its share of the host's
// memory; 0: not known.  nullopt: others had used up the memory, which is logged, and the job goes back uncharged.
std::optional<Failure> failure_of_victim(const Payload& job, std::uint64_t peak_kb, std::uint64_t share_bytes);

// Runs the code of jobs in this process, within their limits: in a worker, or in the process that is forked for one
// job.
class JobCode {
 public:
  // Make it after install_crash_handler(), and before any library is loaded.
  JobCode(Workplace& place, JobServices& services, JobMeter& meter);

  // Call it once the libraries are loaded.  0: no limit.
  void limit_memory(std::uint64_t bytes) { memory_limit_.emplace(bytes); }
  // This process runs a single job, which asks `services`.
  void become_a_job(JobServices& services);

  // Sets how long the next run may take; nullopt: for ever.
  void set_timeout(std::optional<std::chrono::milliseconds> timeout) { host_.timeout = timeout; }
  // Decrypts the arguments.  Call it only in the process that performs the job.
  void open(JobRun& run);
  void perform(JobRun& run);
  // Decides how a failed job is settled.  With `ask_hooks` the hooks of its class and all handlers run.
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

// One process's share of the host's memory, in bytes.
std::uint64_t share_of_host(const Workplace& place);

}  // namespace brood
