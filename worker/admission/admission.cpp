#include "worker/admission/admission.hpp"

#include <utility>

#include "shared/base/redis_clock.hpp"
#include "shared/job/batch_membership.hpp"
#include "shared/job/expiry.hpp"
#include "shared/job/sequence.hpp"
#include "shared/store/redis_time.hpp"
#include "worker/admission/unique_turn.hpp"

namespace brood {
namespace {

using Kind = Decision::Kind;
using Why = Deferral::Why;

Decision deferred(Why why) { return {.kind = Kind::defer, .deferral = {.why = why}}; }

}  // namespace

Admission::Admission(Session& session, Channel& redis, const Config& config,
                     std::function<bool(const std::string&)> knows)
    : session_(session),
      redis_(redis),
      batches_(redis),
      quarantine_(redis, {config.crashes.quarantine_after, config.crashes.within}),
      quarantined_jobs_(redis, quarantine_, std::move(knows)) {}

void Admission::forget_shard() {
  quarantine_.forget();
  quarantined_jobs_.forget();
}

void Admission::begin_batch(const std::string& queue, const std::vector<CapSettings>& caps) {
  queue_ = queue;
  caps_ = &caps;
  begun_ = deferred_ = 0;
}

Decision Admission::decide(std::string_view payload) {
  expired_.reset();
  asked_for_lock_ = false;
  try {
    job_.read(payload);
  } catch (const BadPayload& bad) {
    return order().value_or(Decision{.kind = Kind::unreadable, .why = bad.what()});
  }
  for (Answer (Admission::*const gate)() :
       {&Admission::batch, &Admission::cap, &Admission::expiry, &Admission::class_waits, &Admission::order,
        &Admission::length, &Admission::sequence, &Admission::turn, &Admission::expiry}) {
    if (Answer answer = (this->*gate)()) {
      answer->settles_at_once = asked_for_lock_;
      return *std::move(answer);
    }
  }
  return {.kind = expired_ ? Kind::expire : Kind::run,
          .expiry = expired_.value_or(WallTime{}),
          .settles_at_once = asked_for_lock_};
}

void Admission::note(const Decision& decision) { ++(decision.waits_for_class() ? deferred_ : begun_); }

// A job of a cancelled batch is dropped at once.
Admission::Answer Admission::batch() {
  const auto batch = batch_named_by(job_);
  if (!batch || batch->bid.empty() || !batches_.is_cancelled(batch->bid)) return std::nullopt;
  if (const Answer answer = order()) return answer;
  return Decision{.kind = Kind::skip};
}

// Without a free place of its class it waits beside its queue.  A job that wraps another, as Active Job's do, counts as
// either class; one that is where one of its classes belongs is not moved on by the other.
Admission::Answer Admission::cap() {
  if (caps_->empty()) return std::nullopt;
  std::string beside = aside_for(*caps_, queue_, job_.code_class());
  const bool is_there = home_of(*caps_, queue_) != queue_ && beside.empty();
  if (beside.empty() && !is_there) beside = aside_for(*caps_, queue_, job_.counted_class());
  if (beside.empty()) return std::nullopt;
  Decision decision = deferred(Why::cap);
  decision.deferral.into = std::move(beside);
  return decision;
}

// A job that came too late ends, whatever its class waits for.  Asked again after its lock, which may take long while
// Redis is away.  A clock that may be wrong drops no job: Redis is asked for the time first, which is usually fresh,
// and if Redis does not answer the job runs.
Admission::Answer Admission::expiry() {
  const std::optional<WallTime> expiry = expired_ ? std::nullopt : expiry_of(job_);
  if (!expiry || redis_now() <= *expiry) return std::nullopt;
  ask_redis_time(redis_);
  if (redis_time_is_known() && redis_now() > *expiry) expired_ = expiry;
  return std::nullopt;
}

// Its class is paused, or in quarantine.  This comes before its lock, which it neither takes nor lets go of.
Admission::Answer Admission::class_waits() {
  if (!classes_may_wait_ || expired_) return std::nullopt;
  const std::optional<Deferral> deferral = quarantine_.defers(job_);
  return deferral ? std::optional(deferred(deferral->why)) : std::nullopt;
}

// A recovery takes for performed only what lies in front of everything that was deferred.
Admission::Answer Admission::order() {
  return deferred_ > 0 ? std::optional(Decision{.kind = Kind::not_now}) : std::nullopt;
}

// Jobs that are done wait for no job that may be long.
Admission::Answer Admission::length() {
  const bool may_be_long = begun_ > 0 && !short_classes_.contain(job_.code_class());
  return may_be_long ? std::optional(Decision{.kind = Kind::not_now}) : std::nullopt;
}

// It is the next one of its sequence.  The fetch has seen to that, so others wait only where a script was refused or
// lost; and then they go back to be fetched again.  What came too late ends, and holds up no job.
Admission::Answer Admission::sequence() {
  if (std::string problem = problem_of_sequence(job_); !problem.empty()) {
    quarantine_.does_not_begin(job_);
    return Decision{.kind = Kind::unreadable, .why = std::move(problem)};
  }
  const std::optional<Sequence> sequence = expired_ ? std::nullopt : sequence_named_by(job_);
  if (!sequence) return std::nullopt;
  const Taken entered = session_.enter_sequence(sequence->name, sequence->jid);
  if (entered == Taken::fenced) return Decision{.kind = Kind::not_now};
  asked_for_lock_ = true;
  if (entered == Taken::yes) return std::nullopt;
  quarantine_.does_not_begin(job_);
  return deferred(entered == Taken::no ? Why::sequence : Why::lock);
}

// It has the lock that it runs under.  One that came too late needs none: it ends, and asks for a turn no more.
Admission::Answer Admission::turn() {
  const UniqueTurn turn = take_unique_turn(session_, job_);
  if (turn == UniqueTurn::begins) return std::nullopt;
  if (turn == UniqueTurn::fenced) return Decision{.kind = Kind::not_now};
  asked_for_lock_ = true;
  if (turn == UniqueTurn::holds || (expired_ && turn != UniqueTurn::dropped)) return std::nullopt;
  quarantine_.does_not_begin(job_);
  if (turn == UniqueTurn::dropped) return Decision{.kind = Kind::drop};
  return deferred(turn == UniqueTurn::behind ? Why::behind : Why::lock);
}

}  // namespace brood
