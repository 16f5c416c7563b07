#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// The progress or result of an order that came through Redis with a ticket: see fleet_word.hpp.
struct OrderState {
  enum class Outcome {
    under_way,
    done,
    refused,      // the order, the configuration or a job library: nothing has changed
    rolled_back,  // the new workers failed, and the old ones go on
    not_now,      // the supervisor is quiet or stopping, or another restart is under way
    expired,      // the order was older than its ticket allows, and was not followed
  };
  std::string id, verb;
  Outcome outcome = Outcome::under_way;
  std::string text;  // how far it is, or why it was not done; for people
};

// The state that a supervisor of brood adds to Sidekiq's fields in its heartbeat, for commands that order a whole
// fleet.
struct SupervisorState {
  std::string phase;  // "running", "quiet", "stopping" or "killing"
  std::uint32_t generation = 0;
  double loaded_at = 0;            // epoch seconds: when the configuration and the libraries of its workers were read
  std::vector<OrderState> orders;  // the last few, the newest first
};

std::string text_of(const SupervisorState& state);

// Any client of Redis may have written the text.  nullopt if it is no such state.  Orders that cannot be read are left
// out.
std::optional<SupervisorState> parse_supervisor_state(std::string_view text);

std::string_view name_of(OrderState::Outcome outcome);
std::optional<OrderState::Outcome> order_outcome(std::string_view name);

// The state in the heartbeat of a process.  nullopt: an older brood or Ruby's Sidekiq wrote the heartbeat, or it has
// ended.
Command ask_supervisor_state(std::string_view identity);
std::optional<SupervisorState> read_supervisor_state(ReplyView reply);

}  // namespace brood
