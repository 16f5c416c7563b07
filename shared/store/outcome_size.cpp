#include "shared/store/outcome_size.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

constexpr std::size_t short_message = 200;  // characters

std::string without_stack(const std::string& payload) {
  try {
    const Payload job = Payload::parse(payload);
    std::vector<Payload::Edit> edits{{"error_backtrace", std::nullopt}, {"crash", std::nullopt}};
    if (const auto message = job.string("error_message"))
      edits.push_back({"error_message", json_string(utf8_prefix(*message, short_message))});
    return job.with(edits).text();
  } catch (const BadPayload&) {
    return payload;
  }
}

}  // namespace

Outcome resized(const Outcome& outcome, OutcomeSize size) {
  if (size == OutcomeSize::whole || outcome.kind == Outcome::Kind::acknowledge) return outcome;
  Outcome kept = outcome;
  if (size == OutcomeSize::in_short) {
    kept.payload = without_stack(outcome.payload);
    return kept;
  }
  kept.payload.clear();
  if (kept.kind == Outcome::Kind::retry) {
    kept.kind = Outcome::Kind::move_to_dead;
    kept.score = epoch_seconds(redis_now());
  }
  return kept;
}

// Redis takes at least a megabyte: a batch of those that a worker notes is far from that.
void resize(const std::vector<Outcome*>& outcomes, OutcomeSize size) {
  const auto is_large = [](const Outcome* outcome) { return outcome->payload.size() > OutcomeNotes::text_bytes; };
  const bool some_are_large = std::any_of(outcomes.begin(), outcomes.end(), is_large);
  for (Outcome* const outcome : outcomes) {
    if (!some_are_large || is_large(outcome)) *outcome = resized(*outcome, size);
  }
}

}  // namespace brood
