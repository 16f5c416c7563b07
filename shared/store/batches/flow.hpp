#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/batches/batch.hpp"
#include "shared/store/script.hpp"

namespace brood {

// A flow is a batch whose jobs have names and wait for each other.  Each job is a step, and its number is its index in
// the batch.  The script that ends a step pushes the steps that waited only for it: see follow() in pieces/batches.lua,
// which lists the fields of `brood:batch:<bid>:steps`.

inline constexpr std::size_t max_steps = 1'000;
inline constexpr std::size_t max_steps_added = 250;  // by one script

struct NewStep {
  std::string name;
  std::string kept;                       // from callback_value(), of a payload with its place in the batch
  std::size_t before = 0;                 // how many steps it waits for
  std::vector<std::uint32_t> after = {};  // the indices of those that wait for it
  std::string_view if_failed = "fail";    // "fail", "run" or "skip"
  std::string report = {};                // from report_of_step()
};

// "<seconds> <jid as JSON>": how long the report of a step with this payload is kept, for steps that end without a run
// (report_step() in pieces/batches.lua).  Empty: it keeps none.
std::string report_of_step(const std::string& payload);

// `first` is the index of the first step.  `number` counts the slices of the push from 1.
ScriptCall add_steps(const BatchPush& push, std::uint64_t number, std::uint32_t first,
                     const std::vector<NewStep>& steps);
// Pushes the steps that wait for no other, once all are added.  At most max_steps_added.
ScriptCall release_steps(std::string_view bid, const std::vector<std::uint32_t>& steps);
// Both are read by read_batch_answer().

// For operators.
struct FlowStep {
  enum class State { waiting, pending, failing, dead, succeeded } state = State::pending;
  std::string name;
  std::vector<std::string> after;  // the names of the steps that it waited for
  std::string jid = {};            // empty: an earlier brood has pushed the flow, and the step waits no more
};
std::string_view to_string(FlowStep::State state);
std::vector<Command> ask_steps(std::string_view bid);
// In the order in which they were added; empty if it is no flow.
std::vector<FlowStep> read_steps(ReplyView steps, ReplyView states);

// A step that waits for others.
struct WaitingStep {
  std::string bid;
  std::string payload;
  std::int64_t waits_for = 0;  // so many steps
};
// Looks through all flows of this Redis.  Throws ConnectionLost or UnexpectedReply.
std::optional<WaitingStep> find_waiting_step(Channel& redis, std::string_view jid);

// Asks for the result that a step has left for later ones by job.result(): JSON.
Command ask_step_result(std::string_view bid, std::string_view name);

}  // namespace brood
