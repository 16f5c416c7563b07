#include "worker/admission/unique_turn.hpp"

#include <optional>
#include <vector>

#include "shared/job/sequence.hpp"
#include "shared/job/uniqueness.hpp"
#include "shared/store/gem_lock.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/in_flight/running_lock.hpp"

namespace brood {
namespace {

UniqueTurn take_turn_of_ours(Session& session, const Payload& job) {
  if (!may_be_unique(job.text())) return UniqueTurn::begins;
  const std::optional<Uniqueness> unique = uniqueness_of(job);
  if (!unique) return UniqueTurn::begins;
  if (unique->until != Uniqueness::Until::running) {
    // The lock is the one that the push has named; computed anew it may differ, since the job may be encrypted now.
    const auto lock = job.string("unique_lock");
    if (lock && unique->on_conflict == OnConflict::after) {
      const std::optional<Sequence> sequence = sequence_named_by(job);
      const Taken taken = session.take_for_job(*lock, job.jid(), unique->longest, sequence ? sequence->name : "");
      if (taken == Taken::behind) return UniqueTurn::behind;
      if (taken != Taken::yes) return taken == Taken::fenced ? UniqueTurn::fenced : UniqueTurn::waits;
    }
    if (unique->until != Uniqueness::Until::start) return UniqueTurn::begins;
    std::vector<LetGo> going;
    append_unique_lock(going, job, 0);
    return session.let_go_before_begin(going) ? UniqueTurn::begins : UniqueTurn::fenced;
  }
  switch (session.take(running_lock(session.fence(), unique->lock, job.jid()), take_running_lock)) {
    case Taken::yes:
      return UniqueTurn::holds;
    case Taken::no:
      return unique->on_conflict == OnConflict::after ? UniqueTurn::waits : UniqueTurn::dropped;
    case Taken::behind:   // comes only with locks that jobs hold while they wait
    case Taken::no_lock:  // no other job can have it, so none runs or waits in this one's place
      return UniqueTurn::waits;
    case Taken::fenced:
      break;
  }
  return UniqueTurn::fenced;
}

}  // namespace

UniqueTurn take_unique_turn(Session& session, const Payload& job) {
  const UniqueTurn turn = take_turn_of_ours(session, job);
  if (turn != UniqueTurn::begins && turn != UniqueTurn::holds) return turn;
  const std::optional<GemLock> of_gem = gem_lock_named_by(job);
  if (!of_gem || of_gem->until != GemLock::Until::begin) return turn;
  std::vector<LetGo> going;
  append_held(going, *of_gem, 0);
  return session.let_go_before_begin(going) ? turn : UniqueTurn::fenced;
}

}  // namespace brood
