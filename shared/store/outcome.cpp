#include "shared/store/outcome.hpp"

#include "shared/job/payload.hpp"

namespace brood {

std::vector<std::string> DeadLimits::script_arguments(WallTime now) const {
  return {score_text(epoch_seconds(now - std::chrono::seconds(timeout_seconds))), std::to_string(max_jobs)};
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
  }
  return "acknowledge";
}

void append_arguments(std::vector<std::string>& args, const Outcome& outcome) {
  args.emplace_back(to_string(outcome.kind));
  args.push_back(outcome.payload);
  args.push_back(score_text(outcome.score));
}

}  // namespace brood
