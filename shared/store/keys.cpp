#include "shared/store/keys.hpp"

#include <algorithm>

namespace brood::keys {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// Cuts a run of characters and the `end` after it off the front of `text`; returns false if there is no such run.
bool take(std::string_view& text, bool (*belongs)(char), char end) {
  const std::size_t length = std::find_if_not(text.begin(), text.end(), belongs) - text.begin();
  if (length == 0 || length == text.size() || text[length] != end) return false;
  text.remove_prefix(length + 1);
  return true;
}

}  // namespace

// Host names and queue names may hold colons, so the key is cut where the fixed shape <pid>:<12 hex
// digits>:<slot>.<incarnation> first appears: no host name has it, while a queue could.
std::optional<InFlightList> parse_in_flight_list(std::string_view key) {
  constexpr std::string_view prefix = "brood:inflight:";
  constexpr std::size_t nonce_length = 12;
  if (!key.starts_with(prefix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  for (std::size_t colon = key.find(':'); colon != key.npos; colon = key.find(':', colon + 1)) {
    std::string_view rest = key.substr(colon + 1);
    if (!take(rest, is_digit, ':')) continue;
    const std::string_view nonce = rest;
    if (!take(rest, is_hex, ':') || nonce.size() - rest.size() != nonce_length + 1) continue;
    const std::size_t identity_length = key.size() - rest.size() - 1;
    const std::string_view field = rest;
    if (!take(rest, is_digit, '.') || !take(rest, is_digit, ':')) continue;
    return InFlightList{std::string(key.substr(0, identity_length)),
                        std::string(field.substr(0, field.size() - rest.size() - 1)), std::string(rest)};
  }
  return std::nullopt;
}

}  // namespace brood::keys
