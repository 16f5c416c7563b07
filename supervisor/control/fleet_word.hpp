#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// What the supervisors of a fleet are told through Redis beside Sidekiq's TSTP, TERM and TTIN: an order of the control
// socket, as a word in the list of signals of one identity.  Only brood's own identities are sent one: Ruby's Sidekiq
// knows none of them.
//
//   resume    scale N CAPSULE    kill JID retry|dead|discard
//
// Whoever may write to that Redis may write such a word, and anything else.
struct FleetWord {
  std::string verb;
  std::vector<std::string> arguments = {};
};

std::string text_of(const FleetWord& word);

// nullopt: it is none of ours, too long, or has more to it than its verb takes.
std::optional<FleetWord> parse_fleet_word(std::string_view text);

}  // namespace brood
