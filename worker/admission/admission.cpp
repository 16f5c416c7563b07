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

// Skips a job of a cancelled batch.
Admission::Answer Admission::batch() {
  const auto batch = batch_named_by(job_);
  if (!batch || batch->bid.empty() || !batches_.is_cancelled(batch->bid)) return std::nullopt;
  if (const Answer answer = order()) return answer;
  return Decision{.kind = Kind::skip};
}

// Sets a job aside whose class has a cap, into the queue beside its own.  A job that wraps another, as Active Job's do,
// counts as either class.  If it already lies where one of its classes belongs, the other class does not move it on.
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

// Notes whether the job has expired: then it ends, even if its class is paused or in quarantine.  Called again after
// the lock, which may take long while Redis is away.  A wrong clock must drop no job, so Redis is asked for the time
// first, unless that is fresh.  If Redis does not answer, the job runs.
Admission::Answer Admission::expiry() {
  const std::optional<WallTime> expiry = expired_ ? std::nullopt : expiry_of(job_);
  if (!expiry || redis_now() <= *expiry) return std::nullopt;
  ask_redis_time(redis_);
  if (redis_time_is_known() && redis_now() > *expiry) expired_ = expiry;
  return std::nullopt;
}

// Defers a job whose class is paused or in quarantine.  This comes before its lock, so it neither takes nor lets go of
// one.
Admission::Answer Admission::class_waits() {
  if (!classes_may_wait_ || expired_) return std::nullopt;
  const std::optional<Deferral> deferral = quarantine_.defers(job_);
  return deferral ? std::optional(deferred(deferral->why)) : std::nullopt;
}

// Behind a deferred job, no job is carried out before the next settle: a recovery takes for performed only jobs in
// front of the first deferred one.
Admission::Answer Admission::order() {
  return deferred_ > 0 ? std::optional(Decision{.kind = Kind::not_now}) : std::nullopt;
}

// A job that may be long begins only after the next settle, so that the jobs before it need not wait for their settle.
Admission::Answer Admission::length() {
  const bool may_be_long = begun_ > 0 && !short_classes_.contain(job_.code_class());
  return may_be_long ? std::optional(Decision{.kind = Kind::not_now}) : std::nullopt;
}

// Checks that the job is the next one of its sequence.  The fetch has ensured that, unless a script was refused or
// lost: then the job goes back to be fetched again.  An expired job ends, and does not wait for its sequence.
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

// Takes the lock that the job runs under.  An expired job needs none: it ends, and does not wait for a lock.
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
