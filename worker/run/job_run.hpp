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

// One run of one job: what is known when it begins, and what has come of it so far.
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
  std::string result = {};                    // that it leaves, JSON; empty: none, or none is kept
  bool iteration_ended = false;               // an iterable job has no item left
  std::optional<Failure> locked = {};         // why its arguments cannot be decrypted, or may not be in clear
  std::vector<std::uint64_t> thrown_at = {};  // the stack of what it threw, if the job wants that known
  bool made_calls = false;                    // system calls in this process, or it may have made some
  bool runs_hooks = false;                    // it failed, and its library is asked what becomes of it
  std::optional<OutcomeNote> judged = {};     // what becomes of it, where a process of its own has decided that
  SteadyTime ended{};

  bool failed() const { return performed.kind == Performed::Kind::failed; }
  // Nothing of the job has run, and nothing of it will.
  bool only_expired() const { return expired && performed.kind == Performed::Kind::succeeded; }
};

// Something that is done beside each run.  The runner calls its stages in a fixed order.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual void begin(const JobRun&) {}    // its entry runs, and no code of it has run
  virtual void end(const JobRun&) {}      // its code has ended, its entry still runs
  virtual void settled(const JobRun&) {}  // what becomes of the job is known
};

// Where the code of a job runs: in this process, or in one of its own.
class Performer {
 public:
  virtual ~Performer() = default;
  // Runs it, whatever happens in it.
  virtual void perform(JobRun& run) = 0;
  // Decides how a failed job is settled.
  virtual Outcome judge(JobRun& run) = 0;
  // Puts right what the job has left behind.
  virtual void put_right(const JobRun& run) = 0;
};

}  // namespace brood
