#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// The state of an iterable job: Sidekiq's hash `it-<jid>`, section 5.8.  It expires 30 days after its last change.
struct IterationState {
  std::int64_t executions = 0;                 // runs that were begun
  std::string cursor = {};                     // JSON text; empty: none yet
  double run_seconds = 0;                      // of all runs, until the last save
  std::optional<std::int64_t> cancelled = {};  // when, in epoch seconds
};

Command load_iteration(std::string_view jid);
// A state that was never saved has no cursor.  Throws UnexpectedReply.
IterationState read_iteration(ReplyView reply);

// Saves all but `cancelled`; answers `cancelled` as stored.
ScriptCall save_iteration(std::string_view jid, const IterationState& state);
bool read_saved_is_cancelled(ReplyView reply);
Command is_iteration_cancelled(std::string_view jid);  // answers 1 or 0

Command drop_iteration(std::string_view jid);

// Send them as a pipeline.  The first cancel sets the time; read_cancelled() returns it.
std::vector<Command> cancel_iteration(std::string_view jid, std::int64_t epoch_seconds);
std::int64_t read_cancelled(const std::vector<Reply>& replies);

}  // namespace brood
