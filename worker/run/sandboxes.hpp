#pragma once

#include <optional>

#include "shared/config/sandbox_settings.hpp"
#include "worker/run/job_code.hpp"
#include "worker/run/workplace.hpp"
#include "worker/sandbox/sandbox.hpp"

namespace brood {

// The sandboxes of the classes that have one.
class Sandboxes {
 public:
  // In the worker, before it forks anything.  Throws LibraryError if the kernel cannot provide a sandbox without which
  // a class must not run.
  explicit Sandboxes(Workplace& place);

  bool has(const Payload& job) const { return place_.rules.sandbox(job.code_class()) != nullptr; }
  MemoryCounts memory_counts(const Payload& job) const { return has(job) ? cgroup_->memory_counts() : MemoryCounts(); }
  // The failure of a job that the kernel killed for want of memory, as its counts since `before` show; nullopt: the job
  // goes back uncharged.
  std::optional<Failure> judge_kill(const Payload& job, const MemoryCounts& before, std::uint64_t peak_kb) const;

  // In the job's process, before any code of its class runs: enters the sandbox of the class, if it has one, and keeps
  // `channel` open.  Returns the failure of a job that must not run without it.
  std::optional<Failure> enter(const Payload& job, int channel, JobCode& code);

  // In the worker, when the job's process has crashed.
  void take_crash(const Payload& job) const {
    if (has(job)) scratch_->take_crash();
  }
  void remove() const {
    if (cgroup_) cgroup_->remove();
  }

 private:
  Workplace& place_;
  std::optional<ScratchRecord> scratch_;  // these are set if the worker knows classes with a sandbox
  std::optional<JobCgroup> cgroup_;
  SandboxOffers offers_;
};

}  // namespace brood
