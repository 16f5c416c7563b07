#include "shared/store/outcome.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"

namespace brood {

std::vector<std::string> DeadLimits::script_arguments(WallTime now) const {
  const bool never = timeout_seconds == none().timeout_seconds;  // no score is below the lowest
  return {never ? "(-inf" : score_text(epoch_seconds(now - std::chrono::seconds(timeout_seconds))),
          std::to_string(max_jobs)};
}

std::string_view to_string(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::acknowledge:
    case Outcome::Kind::discard:
      return "acknowledge";
    case Outcome::Kind::retry:
      return "retry";
    case Outcome::Kind::move_to_dead:
      return "move_to_dead";
    case Outcome::Kind::schedule:
      return "schedule";
    case Outcome::Kind::requeue_back:
      return "requeue_back";
    case Outcome::Kind::requeue_head:
      return "requeue_head";
    case Outcome::Kind::give_back:
      return "give_back";
    case Outcome::Kind::quarantine:
      return "quarantine";
    case Outcome::Kind::beside:
      return "beside";
  }
  return "acknowledge";
}

OutcomeNote note_of_result(const EndOfRun& run) {
  return {static_cast<std::uint32_t>(Outcome::Kind::acknowledge), run.elapsed, run.result};
}

Outcome succeeded_with(const OutcomeNote& note) {
  EndOfRun run;
  if (is_json(note.payload)) run.result = note.payload;
  if (std::isfinite(note.score) && note.score > 0) run.elapsed = note.score;
  Outcome outcome;
  outcome.last_run = std::make_shared<const EndOfRun>(std::move(run));
  return outcome;
}

OutcomeNote note_of(const Outcome& outcome) {
  return {static_cast<std::uint32_t>(outcome.kind), outcome.score, outcome.payload};
}

std::optional<Outcome> noted_outcome(const OutcomeNote& note) {
  for (const Outcome::Kind kind :
       {Outcome::Kind::acknowledge, Outcome::Kind::discard, Outcome::Kind::retry, Outcome::Kind::move_to_dead}) {
    if (note.kind == static_cast<std::uint32_t>(kind)) return Outcome{kind, note.payload, note.score};
  }
  return std::nullopt;
}

void append_arguments(std::vector<std::string>& args, const Outcome& outcome) {
  args.emplace_back(to_string(outcome.kind));
  args.push_back(outcome.payload);
  args.push_back(outcome.kind == Outcome::Kind::beside ? outcome.into : score_text(outcome.score));
}

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

bool has_large_result(const Outcome& outcome) {
  return outcome.last_run && outcome.last_run->result.size() > OutcomeNotes::text_bytes;
}

}  // namespace

Outcome resized(const Outcome& outcome, OutcomeSize size) {
  if (size == OutcomeSize::whole) return outcome;
  Outcome kept = outcome;
  if (has_large_result(outcome)) {
    EndOfRun without_result = *outcome.last_run;
    without_result.result.clear();
    kept.last_run = std::make_shared<const EndOfRun>(std::move(without_result));
  }
  if (outcome.leaves_nothing()) return kept;
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

// Redis takes at least a megabyte: a batch of payloads small enough for a worker's notes is far below that.
void resize(const std::vector<Outcome*>& outcomes, OutcomeSize size) {
  const auto is_large = [](const Outcome* outcome) {
    return outcome->payload.size() > OutcomeNotes::text_bytes || has_large_result(*outcome);
  };
  const bool some_are_large = std::any_of(outcomes.begin(), outcomes.end(), is_large);
  for (Outcome* const outcome : outcomes) {
    if (!some_are_large || is_large(outcome)) *outcome = resized(*outcome, size);
  }
}

}  // namespace brood
