#include "shared/redis/redirection.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/find_slot_owner.hpp"

namespace brood {
namespace {

// Returns -1 if `digits` is no number.
int plain_number(std::string_view digits) {
  int number = -1;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc() && rest == end ? number : -1;
}

// Cuts the first word off.
std::string_view cut_word(std::string_view& text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(std::min(space + 1, text.size()));
  return word;
}

std::optional<RedisSeed> read_node(std::string_view host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');  // an IPv6 address stands without brackets
  if (colon == host_and_port.npos) return std::nullopt;
  const int port = plain_number(host_and_port.substr(colon + 1));
  if (port < 1 || port > 65'535) return std::nullopt;
  const std::string_view host = host_and_port.substr(0, colon);
  if (!fits_a_host(host)) return std::nullopt;
  return RedisSeed{host == "?" ? "" : std::string(host), static_cast<std::uint16_t>(port)};
}

}  // namespace

std::optional<Redirection> read_redirection(std::string_view error) {
  Redirection redirection;
  const std::string_view word = cut_word(error);
  if (word == "TRYAGAIN") return Redirection{.kind = Redirection::Kind::try_again, .node = {}};
  if (word != "MOVED" && word != "ASK") return std::nullopt;
  redirection.kind = word == "MOVED" ? Redirection::Kind::moved : Redirection::Kind::ask;
  redirection.slot = plain_number(cut_word(error));
  auto node = read_node(cut_word(error));
  if (redirection.slot < 0 || redirection.slot >= cluster_slots || !node) return std::nullopt;
  redirection.node = std::move(*node);
  return redirection;
}

std::optional<Redirected> find_redirected(std::span<const Command> commands, std::span<const Reply> replies) {
  std::optional<Redirected> redirected;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    // One past the command, or past the transaction that it begins.
    std::size_t end = i + 1;
    if (commands[i].args.front() == "MULTI") {
      while (end < commands.size() && commands[end - 1].args.front() != "EXEC") ++end;
    }
    for (std::size_t part = i; part < end; ++part) {
      const auto redirection = read_redirection(replies[part].view().error());
      if (!redirection) continue;
      if (!redirected)
        redirected = Redirected{.places = {}, .redirection = *redirection, .in_transaction = end > i + 1};
      for (std::size_t place = i; place < end; ++place) redirected->places.push_back(place);
      break;
    }
    if (redirected && commands[i].args.front() == "WAIT") {
      redirected->places.push_back(i);
      redirected->with_wait = true;
    }
    i = end - 1;
  }
  return redirected;
}

namespace {

// For how long commands are sent again, and the pauses between.  After that the caller gets the error.
constexpr std::chrono::seconds longest_redirection{2};
constexpr std::chrono::milliseconds shortest_pause{5}, longest_pause{100};
constexpr int redirections_without_pause = 3;

// If another command was sent and applied before, the error of `send` must not claim that nothing was applied.
template <typename Send>
auto send_again(bool nothing_was_applied, Send send) {
  try {
    return send();
  } catch (const ConnectionLost& lost) {
    if (nothing_was_applied) throw;
    throw lost.after_others();
  }
}

// Compares two answers to WAIT; one that is no number confirms nothing.
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
    // If there are several commands, the others may have been redirected elsewhere.
    if (asks && redirected->with_wait)
      places = {places.front(), places.back()};
    else if (asks)
      places.resize(1);
    std::vector<Command> again;
    for (const std::size_t place : places) again.push_back(commands[place]);
    if (asks) {
      std::vector<Reply> answers = send_again(nothing_was_applied, [&] { return sender.ask(to.node, again); });
      replies[places.front()] = std::move(answers.front());
      // Commands that stayed here have been confirmed here; the lower confirmation counts.
      if (answers.size() > 1 && confirms_less(answers.back(), replies[places.back()]))
        replies[places.back()] = std::move(answers.back());
      continue;
    }
    std::vector<Reply> answers = send_again(nothing_was_applied, [&] { return sender.send(again); });
    for (std::size_t j = 0; j < answers.size(); ++j) replies[places[j]] = std::move(answers[j]);
  }
}

}  // namespace brood
