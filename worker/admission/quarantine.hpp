#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/deferral.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/queues/known_queues.hpp"

namespace brood {

// How a worker with these libraries must treat a job of a class.
enum class QuarantineAnswer {
  perform,
  probe,  // perform one job at a time: the class crashed with other libraries
  defer,  // the class crashed with these libraries
};
// `known` is null for a class that is not in quarantine.
QuarantineAnswer judge_quarantine(const QuarantinedClass* known, std::string_view libraries);

// Whether the class of the payload or the one that it wraps is paused: a pause of Active Job's wrapper holds all its
// jobs.
bool is_of_paused_class(const Payload& job, const NameSet& paused);

// How long Redis may take to answer.
inline constexpr std::chrono::milliseconds quarantine_patience(2000);

// One worker's view of the classes in quarantine and of the paused ones.  It defers their jobs.  If the worker's
// libraries differ from those that crashed, it tries one job at a time.
class Quarantine {
 public:
  // `redis` must be idle while this asks it.
  Quarantine(Channel& redis, const QuarantineRules& rules) : redis_(redis), rules_(rules) {}

  // Call it once the libraries are loaded; see libraries_digest().
  void set_libraries(std::uint64_t digest, SteadyTime now);
  const std::string& libraries() const { return libraries_; }

  // Call it when the worker has gone to another shard: forgets the quarantines of the former one.
  void forget();

  // Whether a job of any class may have to wait.  If so, defers() decides for one job.  If that job need not wait, call
  // ended() when it has ended, or does_not_begin() if it waits for something else or ends before it began.  `paused`:
  // see note_pauses().
  bool may_defer(const NameSet* paused);
  std::optional<Deferral> defers(const Payload& job);
  void ended(const Payload& job);
  void does_not_begin(const Payload& job);

  // Whether the job that begins now is on trial, and the heartbeat must prolong the trial as long as the job runs.
  bool is_kept_trial() const { return probe_.has_value() && is_kept_; }

  bool is_on() const { return rules_.after > 0; }

  // ---- For the jobs that wait: see QuarantinedJobs

  bool is_paused(const Payload& job) const;
  QuarantineAnswer judge(const Payload& job) const { return judge_quarantine(known(job), libraries_); }
  // Notes which classes are paused now; nullptr while that is not known.
  void note_pauses(const NameSet* paused);
  const NameSet& paused() const { return paused_; }
  // Notes which classes are in quarantine, as just read.
  void learn(QuarantinedClasses classes);
  // For how long these need not be read again.
  std::chrono::nanoseconds stays_fresh_for(SteadyTime now) const;
  // Whether a trial has ended since the last take_ended_trial(): then jobs of its class may go on.
  bool has_ended_trial() const { return has_ended_trial_; }
  bool take_ended_trial() { return std::exchange(has_ended_trial_, false); }
  // Reports the end of the last trial to Redis, unless that was done.
  void tell_of_passed();

 private:
  const QuarantinedClass* known(const Payload& job) const;
  bool has_crashed(const Payload& job);
  void read_unless_fresh();

  Channel& redis_;
  const QuarantineRules rules_;
  NameSet paused_;  // as last read; known when the last job was deferred
  std::string libraries_;
  SteadyTime begun_{}, read_at_{};
  QuarantinedClasses classes_;
  std::optional<std::string> probe_;  // the jid of the probe that this worker runs
  bool is_kept_ = false;              // whether heartbeats prolong it
  struct Passed {
    std::string job_class, shown, jid;
  };
  std::optional<Passed> passed_;  // a probe that has ended, not yet reported to Redis; no other one begins before that
  bool has_ended_trial_ = false;
};

}  // namespace brood
