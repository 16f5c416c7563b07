#include "worker/unique_turn.hpp"

#include <optional>

#include "shared/job/payload.hpp"
#include "shared/job/uniqueness.hpp"
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

}  // namespace

UniqueTurn take_unique_turn(FetchAndSettle& in_flight, std::string_view payload) {
  if (!may_be_unique(payload)) return UniqueTurn::begins;
  const std::optional<Payload> job = parsed_if_readable(payload);
  const std::optional<Uniqueness> unique = job ? uniqueness_of(*job) : std::nullopt;
  if (!unique) return UniqueTurn::begins;
  if (unique->until != Uniqueness::Until::running) {
    // Its lock is the one that its push named: it may be encrypted since.
    const auto lock = job->string("unique_lock");
    if (lock && unique->on_conflict == OnConflict::after) {
      const Taken taken = in_flight.take_for_job(*lock, job->jid(), unique->longest);
      if (taken != Taken::yes) return taken == Taken::no ? UniqueTurn::waits : UniqueTurn::fenced;
    }
    if (unique->until == Uniqueness::Until::start && !in_flight.let_go_before_begin(payload)) return UniqueTurn::fenced;
    return UniqueTurn::begins;
  }
  switch (in_flight.take(running_lock(in_flight.fence(), unique->lock, job->jid()), take_running_lock)) {
    case Taken::yes:
      return UniqueTurn::holds;
    case Taken::no:
      return unique->on_conflict == OnConflict::after ? UniqueTurn::waits : UniqueTurn::dropped;
    case Taken::fenced:
      break;
  }
  return UniqueTurn::fenced;
}

}  // namespace brood
