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
//   resume    scale N CAPSULE    kill JID retry|dead|discard    restart
//
// A restart has a ticket, and a scale may have one; the others have none.  Any client that may write to this Redis can
// write such a word, or any other text.

// The ticket of an order.  Its id finds the answer in the heartbeat.  After `until` the supervisor does not follow it.
struct OrderTicket {
  static constexpr std::size_t longest_id = 64, longest_name = 200;

  std::string id;          // of [A-Za-z0-9-], new for each order
  std::string by;          // who gives it, for the log: a name that the sender chooses
  std::int64_t until = 0;  // epoch seconds of Redis
};

struct FleetWord {
  std::string verb;
  std::vector<std::string> arguments = {};
  std::optional<OrderTicket> ticket = {};
};

std::string text_of(const FleetWord& word);

// nullopt if the text is no such word or is too long, if its verb takes other arguments, or if a ticket is missing or
// not allowed.
std::optional<FleetWord> parse_fleet_word(std::string_view text);

}  // namespace brood
