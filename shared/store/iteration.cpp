#include "shared/store/iteration.hpp"

#include <algorithm>
#include <charconv>

#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script save_iteration;
}

namespace {

constexpr std::string_view state_seconds_to_live = "2592000";

// Leaves room for the number of the next run, whatever another program has written.
constexpr std::int64_t most_executions = 1'000'000'000'000;

// Returns 0 if `text` is no number, as Ruby does.
template <typename Number>
Number number_of(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string shortest_text(double number) {
  char text[400];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::fixed).ptr};
}

}  // namespace

Command load_iteration(std::string_view jid) { return {"HGETALL", keys::iteration(jid)}; }

IterationState read_iteration(ReplyView reply) {
  IterationState state;
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
    const std::string_view field = reply[i].text(), value = reply[i + 1].text();
    if (field == "ex") state.executions = std::clamp<std::int64_t>(number_of<std::int64_t>(value), 0, most_executions);
    if (field == "c") state.cursor = value;
    if (field == "rt") state.run_seconds = number_of<double>(value);
    if (field == "cancelled") state.cancelled = number_of<std::int64_t>(value);
  }
  return state;
}

ScriptCall save_iteration(std::string_view jid, const IterationState& state) {
  return {&scripts::save_iteration,
          {keys::iteration(jid)},
          {std::to_string(state.executions), state.cursor.empty() ? "null" : state.cursor,
           shortest_text(state.run_seconds), std::string(state_seconds_to_live)}};
}

bool read_saved_is_cancelled(ReplyView reply) { return !reply.is_nil(); }

Command is_iteration_cancelled(std::string_view jid) { return {"HEXISTS", keys::iteration(jid), "cancelled"}; }

Command drop_iteration(std::string_view jid) { return {"UNLINK", keys::iteration(jid)}; }

// Sets the time to live anew each time, as Sidekiq 7 does: EXPIRE takes NX only since Redis 7.
std::vector<Command> cancel_iteration(std::string_view jid, std::int64_t epoch_seconds) {
  const RedisKey key = keys::iteration(jid);
  return {{"HSETNX", key, "cancelled", std::to_string(epoch_seconds)},
          {"HGET", key, "cancelled"},
          {"EXPIRE", key, state_seconds_to_live}};
}

std::int64_t read_cancelled(const std::vector<Reply>& replies) {
  replies.at(0).view().integer();  // throws if Redis refused it
  return number_of<std::int64_t>(replies.at(1).view().text());
}

}  // namespace brood
