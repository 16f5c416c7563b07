#include "worker/fetching/unique_turn.hpp"

#include <optional>
#include <vector>

#include "shared/job/payload.hpp"
#include "shared/job/uniqueness.hpp"
#include "shared/store/gem_lock.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/in_flight/running_lock.hpp"

namespace brood {
namespace {

std::optional<Payload> parsed_if_readable(std::string_view text) {
  try {
    return Payload::parse(text);
  } catch (const BadPayload&) {  // performing it says why
    return std::nullopt;
  }
}

UniqueTurn take_turn_of_ours(FetchAndSettle& in_flight, std::string_view payload) {
  if (!may_be_unique(payload)) return UniqueTurn::begins;
  const std::optional<Payload> job = parsed_if_readable(payload);
  const std::optional<Uniqueness> unique = job ? uniqueness_of(*job) : std::nullopt;
  if (!unique) return UniqueTurn::begins;
  if (unique->until != Uniqueness::Until::running) {
    // Its lock is the one that its push named: it may be encrypted since.
    const auto lock = job->string("unique_lock");
    if (lock && unique->on_conflict == OnConflict::after) {
      const Taken taken = in_flight.take_for_job(*lock, job->jid(), unique->longest);
      if (taken != Taken::yes) return taken == Taken::fenced ? UniqueTurn::fenced : UniqueTurn::waits;
    }
    if (unique->until != Uniqueness::Until::start) return UniqueTurn::begins;
    std::vector<LetGo> going;
    append_unique_lock(going, payload, 0);
    return in_flight.let_go_before_begin(going) ? UniqueTurn::begins : UniqueTurn::fenced;
  }
  switch (in_flight.take(running_lock(in_flight.fence(), unique->lock, job->jid()), take_running_lock)) {
    case Taken::yes:
      return UniqueTurn::holds;
    case Taken::no:
      return unique->on_conflict == OnConflict::after ? UniqueTurn::waits : UniqueTurn::dropped;
    case Taken::no_lock:  // no other job runs or waits in its place
      return UniqueTurn::waits;
    case Taken::fenced:
      break;
  }
  return UniqueTurn::fenced;
}

}  // namespace

UniqueTurn take_unique_turn(FetchAndSettle& in_flight, std::string_view payload) {
  const UniqueTurn turn = take_turn_of_ours(in_flight, payload);
  if (turn != UniqueTurn::begins && turn != UniqueTurn::holds) return turn;
  const std::optional<GemLock> of_gem = gem_lock_named_by(payload);
  if (!of_gem || of_gem->until != GemLock::Until::begin) return turn;
  std::vector<LetGo> going;
  append_held(going, *of_gem, 0);
  return in_flight.let_go_before_begin(going) ? turn : UniqueTurn::fenced;
}

}  // namespace brood
