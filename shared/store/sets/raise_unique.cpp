#include "shared/store/sets/raise_unique.hpp"

#include <utility>

#include "shared/store/holdings.hpp"
#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script raise_unique;
}

std::optional<LockOfDead> lock_of_dead(std::string_view payload) {
  auto named = lock_named_by(payload);
  if (!named) return std::nullopt;
  try {
    const auto unique = uniqueness_of(Payload::parse(payload));
    if (!unique || unique->until == Uniqueness::Until::running) return std::nullopt;
    return LockOfDead{std::move(named->lock), std::move(named->jid), unique->longest,
                      unique->on_conflict == OnConflict::after};
  } catch (const BadPayload&) {
    return std::nullopt;
  }
}

ScriptCall raise_unique(DueJob job, const LockOfDead& lock) {
  return {&scripts::raise_unique,
          {keys::dead, keys::queue(job.queue), keys::queues, keys::unique_lock(lock.lock)},
          {std::string(job.member), std::string(job.score_text), std::move(job.payload_to_push), lock.jid,
           std::to_string(lock.longest.count()), lock.may_wait ? "after" : ""}};
}

Raised read_raised(ReplyView reply) {
  const std::string_view word = reply[0].text();
  if (word == "MOVED") return {Raised::Kind::moved};
  if (word == "GONE") return {Raised::Kind::gone};
  if (word == "STUCK") return {Raised::Kind::stuck};
  return {Raised::Kind::held, std::string(reply[1].text())};
}

}  // namespace brood
