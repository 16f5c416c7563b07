#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/deferral.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/queues/known_queues.hpp"

namespace brood {

// What a worker with these libraries does with a job of a class, as far as quarantine goes.
enum class QuarantineAnswer {
  perform,
  probe,  // one at a time: the class crashed with other libraries
  defer,  // it crashed with these
};
QuarantineAnswer judge_quarantine(const QuarantinedClass* known, std::string_view libraries);

// One worker's view of the classes in quarantine, and of those that are paused: lets their jobs wait, tries one of them
// when the worker's libraries differ from those that crashed, and puts back what waits once a class is free.
class Quarantine {
 public:
  // `redis` is idle while it is asked here.  `knows` tells whether the worker has code for a class.
  Quarantine(Channel& redis, const QuarantineRules& rules, std::function<bool(const std::string&)> knows);

  // `paused` tells which classes are paused by now, nullptr where that is not known; without it none is.
  void follow_pauses(std::function<const NameSet*()> paused) { paused_ = std::move(paused); }

  // Call it once the libraries are loaded; see libraries_digest().
  void set_libraries(std::uint64_t digest);

  // The worker has gone to another shard: forgets what it knows of the one before.
  void forget();

  // Every few seconds asks Redis which classes there are, and puts back what need not wait any more.  Without a
  // quarantine it looks after each change of the pauses, and now and then.
  void look(SteadyTime now);

  // Whether a job of any class may have to wait.  Then defers() tells whether this one must.  If it need not, call
  // ended() when it has ended, or does_not_begin() where something else keeps it waiting, or ends it before it began.
  bool may_defer();
  std::optional<Deferral> defers(const Payload& job);
  void ended(const Payload& job);
  void does_not_begin(const Payload& job);

  // Whether the job that is to begin is on trial, and the heartbeat is to say so as long as it runs.
  bool is_kept_trial() const { return probe_.has_value() && is_kept_; }

  bool is_on() const { return rules_.after > 0; }
  // Whether a job may wait that need not soon: it is to look again before long.
  bool some_wait() const;

 private:
  bool is_paused(const Payload& job) const;
  void note_pauses(const NameSet& paused, SteadyTime now);
  std::chrono::nanoseconds until_next_look(SteadyTime now) const;
  bool has_crashed(const Payload& job);
  void read();
  void read_unless_fresh();
  void tell_of_passed();
  bool may_release();
  void release(SteadyTime now);
  std::size_t release_from(std::size_t first, std::size_t& looked_at);
  enum class PutBack { done, gone, refused };
  PutBack put_back(const Payload& job);

  Channel& redis_;
  const QuarantineRules rules_;
  const std::function<bool(const std::string&)> knows_;
  std::function<const NameSet*()> paused_;
  NameSet paused_now_;  // as last read; known when the last job was deferred
  int looks_after_change_ = 0;
  bool said_refused_ = false;
  std::string libraries_;
  QuarantinedClasses classes_;
  std::int64_t waiting_ = 0;
  std::size_t looked_through_ = 0;  // how many of what waits, from the oldest on
  bool looks_again_ = false;        // what it released last is not all
  bool looks_at_all_ = false;       // after a change of the pauses, until it comes to the end
  SteadyTime first_look_{}, next_look_{}, read_at_{};
  std::optional<std::string> probe_;  // the jid of the one that this worker runs
  bool is_kept_ = false;              // heartbeats tell of it
  struct Passed {
    std::string job_class, shown, jid;
  };
  std::optional<Passed> passed_;  // a probe that has ended and that Redis does not know of: no other begins before
};

}  // namespace brood
