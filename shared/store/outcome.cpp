#include "shared/store/outcome.hpp"

#include "shared/job/payload.hpp"

namespace brood {

std::vector<std::string> DeadLimits::script_arguments(WallTime now) const {
  const bool never = timeout_seconds == none().timeout_seconds;  // no score is below the lowest
  return {never ? "(-inf" : score_text(epoch_seconds(now - std::chrono::seconds(timeout_seconds))),
          std::to_string(max_jobs)};
}

std::string_view to_string(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::acknowledge:
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

OutcomeNote note_of(const Outcome& outcome) {
  return {static_cast<std::uint32_t>(outcome.kind), outcome.score, outcome.payload};
}

std::optional<Outcome> noted_outcome(const OutcomeNote& note) {
  for (const Outcome::Kind kind : {Outcome::Kind::acknowledge, Outcome::Kind::retry, Outcome::Kind::move_to_dead}) {
    if (note.kind == static_cast<std::uint32_t>(kind)) return Outcome{kind, note.payload, note.score};
  }
  return std::nullopt;
}

void append_arguments(std::vector<std::string>& args, const Outcome& outcome) {
  args.emplace_back(to_string(outcome.kind));
  args.push_back(outcome.payload);
  args.push_back(outcome.kind == Outcome::Kind::beside ? outcome.into : score_text(outcome.score));
}

}  // namespace brood
