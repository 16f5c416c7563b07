#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// An order to a supervisor through Redis: one of the control socket's verbs, as a word in the list of signals of its
// identity, where Sidekiq puts TSTP, TERM and TTIN.  Only supervisors of brood are sent such words: Ruby's Sidekiq
// knows none of them.
//
//   resume    scale N CAPSULE    kill JID retry|dead|discard
//
// Every client that may write to this Redis may write such a word, and anything else.
struct FleetWord {
  std::string verb;
  std::vector<std::string> arguments = {};
};

std::string text_of(const FleetWord& word);

// nullopt: the text is no such word, is too long, or has more or fewer arguments than its verb takes.
std::optional<FleetWord> parse_fleet_word(std::string_view text);

}  // namespace brood
