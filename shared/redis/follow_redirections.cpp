#include "shared/redis/follow_redirections.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/redirection.hpp"

namespace brood {
namespace {

// How long commands are sent again, and the pauses in between; after that the caller gets the error.
constexpr std::chrono::seconds longest_redirection{2};
constexpr std::chrono::milliseconds shortest_pause{5}, longest_pause{100};
constexpr int redirections_without_pause = 3;

// If something else was sent and applied before, the error of a failure must not say that nothing was applied.
template <typename Send>
auto send_again(bool nothing_was_applied, Send send) {
  try {
    return send();
  } catch (const ConnectionLost& lost) {
    if (nothing_was_applied) throw;
    throw lost.after_others();
  }
}

// Of two answers to WAIT; one that is no number confirms nothing.
bool confirms_less(const Reply& one, const Reply& other) {
  const auto count = [](const Reply& reply) { return reply.view().is_integer() ? reply.view().integer() : -1; };
  return count(one) < count(other);
}

}  // namespace

void follow_redirections(std::span<const Command> commands, std::vector<Reply>& replies, RedirectedSender& sender) {
  const SteadyTime until = steady_now() + longest_redirection;
  std::chrono::milliseconds pause = shortest_pause;
  for (int i = 0; const auto redirected = find_redirected(commands, replies); ++i) {
    const Redirection& to = redirected->redirection;
    const bool asks = to.kind == Redirection::Kind::ask && !redirected->in_transaction;
    const bool nothing_was_applied = redirected->places.size() == commands.size();
    if (to.kind == Redirection::Kind::moved) sender.go_to(to.node);
    if (steady_now() >= until) return;
    if ((!asks && to.kind != Redirection::Kind::moved) || i >= redirections_without_pause) {
      if (steady_now() + pause >= until) return;
      sender.pause(pause);
      pause = std::min(2 * pause, longest_pause);
    }
    std::vector<std::size_t> places = redirected->places;
    // Of several, others may have been redirected otherwise.
    if (asks && redirected->with_wait)
      places = {places.front(), places.back()};
    else if (asks)
      places.resize(1);
    std::vector<Command> again;
    for (const std::size_t place : places) again.push_back(commands[place]);
    if (asks) {
      std::vector<Reply> answers = send_again(nothing_was_applied, [&] { return sender.ask(to.node, again); });
      replies[places.front()] = std::move(answers.front());
      // What stayed here has been confirmed here; whoever confirms less counts.
      if (answers.size() > 1 && confirms_less(answers.back(), replies[places.back()]))
        replies[places.back()] = std::move(answers.back());
      continue;
    }
    std::vector<Reply> answers = send_again(nothing_was_applied, [&] { return sender.send(again); });
    for (std::size_t j = 0; j < answers.size(); ++j) replies[places[j]] = std::move(answers[j]);
  }
}

}  // namespace brood
