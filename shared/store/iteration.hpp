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

// How far an iterable job has come: Sidekiq's hash `it-<jid>`, section 5.8.  It outlives its last change by 30 days.
struct IterationState {
  std::int64_t executions = 0;                 // runs that were begun
  std::string cursor = {};                     // JSON text; empty: none yet
  double run_seconds = 0;                      // of all runs, until the last save
  std::optional<std::int64_t> cancelled = {};  // when, in epoch seconds
};

Command load_iteration(std::string_view jid);
// A state that was never saved has no cursor.  Throws UnexpectedReply.
IterationState read_iteration(ReplyView reply);

// Saves all but `cancelled`, which the script answers.
ScriptCall save_iteration(std::string_view jid, const IterationState& state);
bool read_saved_is_cancelled(ReplyView reply);
Command is_iteration_cancelled(std::string_view jid);  // answers 1 or 0

Command drop_iteration(std::string_view jid);

// To be sent as a pipeline.  The first to cancel says when; read_cancelled tells that time.
std::vector<Command> cancel_iteration(std::string_view jid, std::int64_t epoch_seconds);
std::int64_t read_cancelled(const std::vector<Reply>& replies);

}  // namespace brood
