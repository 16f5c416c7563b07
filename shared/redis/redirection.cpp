#include "shared/redis/redirection.hpp"

#include <algorithm>
#include <charconv>

#include "shared/redis/cluster_slots.hpp"

namespace brood {
namespace {

// -1: no number.
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
    // Goes to the end of the command, or of the transaction that it begins.
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

}  // namespace brood
