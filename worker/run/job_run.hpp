#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/scoreboard/outcome_notes.hpp"
#include "shared/store/outcome.hpp"
#include "worker/job/perform.hpp"

namespace brood {

// One run of one job: the facts known when it begins, and its results so far.
struct JobRun {
  int entry = 0;  // of the held batch
  Payload& job;
  const std::string& queue;
  std::optional<WallTime> expired =
      {};  // the job came too late to begin: the on_expired hook of its class runs instead
  SteadyTime started{};
  WallTime started_at{};
  std::uint32_t class_flags = 0;
  bool keeps_report = false;  // a report of its end is kept

  // The results of its code.
  Performed performed = {};
  std::string result = {};                    // of the job, as JSON; empty: none, or none is kept
  bool iteration_ended = false;               // an iterable job has no item left
  std::optional<Failure> locked = {};         // why its arguments cannot be decrypted, or may not be in clear
  std::vector<std::uint64_t> thrown_at = {};  // the stack of its exception, if that is to be recorded
  bool made_calls = false;                    // system calls in this process, or it may have made some
  bool runs_hooks = false;                    // it failed, and hooks or handlers of its library run
  std::optional<OutcomeNote> judged = {};     // its outcome, if a process of its own has decided that
  SteadyTime ended{};

  bool failed() const { return performed.kind == Performed::Kind::failed; }
  // Whether the job has expired, so that its own code does not run.
  bool only_expired() const { return expired && performed.kind == Performed::Kind::succeeded; }
};

// An action beside each run.  The runner calls its stages in a fixed order.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual void begin(const JobRun&) {}    // the entry runs, and no code of the job has run
  virtual void end(const JobRun&) {}      // the job's code has ended, the entry still runs
  virtual void settled(const JobRun&) {}  // the outcome of the job is known
};

// Where the code of a job runs: in this process, or in one of its own.
class Performer {
 public:
  virtual ~Performer() = default;
  // Runs the job and notes the result in `run`.
  virtual void perform(JobRun& run) = 0;
  // Decides how a failed job is settled.
  virtual Outcome judge(JobRun& run) = 0;
  // Restores what the job has changed.
  virtual void put_right(const JobRun& run) = 0;
};

}  // namespace brood
