#include "shared/store/sequences/sequences.hpp"

#include <set>

#include "shared/base/contains_text.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/job/sequence.hpp"
#include "shared/json/json.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/scan.hpp"

namespace brood {

namespace scripts {
extern const Script sequence_page, pass_sequence_on, held_in_flight, stray_sequences, remove_job;
}

namespace {

constexpr int sequences_a_page = 500;
constexpr int keys_a_page = 1000;
constexpr const char* turn_ms = "150000";  // longer than from one look to the next

SequenceState state_of(std::string_view name, std::string_view field, std::int64_t waiting) {
  SequenceState state{.name = std::string(name), .field = std::string(field), .holder = "", .waiting = waiting};
  const std::size_t blank = field.find(' ');
  state.holder = blank == field.npos ? field : field.substr(blank + 1);
  if (const auto ms = plain_number<std::int64_t>(field.substr(0, blank)); blank != field.npos && ms)
    state.since = WallTime(std::chrono::milliseconds(*ms));
  return state;
}

}  // namespace

ScriptCall sequence_page(std::string_view cursor) {
  return {&scripts::sequence_page, {keys::brood_sequences}, {std::string(cursor), std::to_string(sequences_a_page)}};
}

SequencePage read_sequence_page(ReplyView reply) {
  SequencePage page{std::string(reply[0].text()), {}};
  for (std::size_t i = 1; i + 2 < reply.size(); i += 3)
    page.sequences.push_back(state_of(reply[i].text(), reply[i + 1].text(), reply[i + 2].integer()));
  return page;
}

void for_each_sequence(Channel& redis, const std::function<void(const SequenceState&)>& look) {
  std::string cursor(first_sequence_page);
  do {
    const SequencePage page = read_sequence_page(redis.run(sequence_page(cursor)).view());
    for (const SequenceState& sequence : page.sequences) look(sequence);
    cursor = page.next;
  } while (cursor != first_sequence_page);
}

std::int64_t jobs_waiting_in_sequences(Channel& redis) {
  std::int64_t jobs = 0;
  for_each_sequence(redis, [&](const SequenceState& sequence) { jobs += sequence.waiting; });
  return jobs;
}

std::int64_t jobs_in_all_lists_of_sequences(Channel& redis) {
  std::set<std::string> names;  // a scan may meet one twice
  for_each_key(redis, keys::sequence("*"), "list", [&](const std::string& key) { names.insert(key); });
  std::int64_t jobs = 0;
  for (const std::string& name : names) jobs += redis.call({"LLEN", RedisKey(name)}).view().integer();
  return jobs;
}

std::vector<Command> ask_sequence(std::string_view name, std::size_t most) {
  return {{"HGET", keys::brood_sequences, name},
          {"LLEN", keys::sequence(name)},
          {"LRANGE", keys::sequence(name), "0", std::to_string(static_cast<std::int64_t>(most) - 1)}};
}

std::optional<ShownSequence> read_sequence(std::string_view name, const std::vector<Reply>& replies) {
  const ReplyView field = replies.at(0).view(), length = replies.at(1).view(), jobs = replies.at(2).view();
  const std::int64_t waiting = length.is_integer() ? length.integer() : 0;
  if (!field.is_string() && waiting == 0) return std::nullopt;
  ShownSequence shown{state_of(name, field.is_string() ? field.text() : "", waiting), {}};
  for (std::size_t i = 0; jobs.is_array() && i < jobs.size(); ++i) shown.waiting.emplace_back(jobs[i].text());
  return shown;
}

ScriptCall remove_waiting(std::string_view sequence, const std::string& payload) {
  ScriptCall call{&scripts::remove_job, {keys::sequence(sequence)}, {payload}};
  std::vector<LetGo> held;
  append_held(held, payload, 1, JobEnding::gone);
  append(call, held);
  return call;
}

Command ask_any_sequence() { return {"EXISTS", keys::brood_sequences}; }

std::vector<Command> take_turn_to_watch(std::string_view identity) {
  return {{"SET", keys::brood_sequence_watch, identity, "NX", "PX", turn_ms}, {"GET", keys::brood_sequence_watch}};
}

Command keep_turn_to_watch() { return {"PEXPIRE", keys::brood_sequence_watch, turn_ms}; }

Command take_turn_to_find_strays(std::string_view identity, std::chrono::nanoseconds between_looks) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(between_looks).count();
  return {"SET", keys::brood_stray_sequence_watch, identity, "NX", "PX", std::to_string(ms)};
}

bool read_has_turn(ReplyView reply) { return !reply.is_nil() && reply.error().empty(); }

ScriptCall stray_sequences(std::string_view cursor) {
  return {&scripts::stray_sequences, {keys::brood_sequences}, {std::string(cursor), std::to_string(keys_a_page)}};
}

StraySequences read_stray_sequences(ReplyView reply) {
  StraySequences page{std::string(reply[0].text()), {}};
  for (std::size_t i = 1; i < reply.size(); ++i) page.names.emplace_back(reply[i].text());
  return page;
}

// The scripts read some payloads that are unreadable here, such as one with NaN.
bool is_holder(const SequenceState& sequence, std::string_view payload) {
  if (const auto named = sequence_named_by(payload))
    return named->name == sequence.name && (sequence.holder.empty() || named->jid == sequence.holder);
  return contains_text(payload, mark_of_sequence) && !is_json(payload) &&
         contains_text(payload, sequence.holder.empty() ? sequence.name : sequence.holder);
}

ScriptCall held_in_flight(const std::vector<SequenceState>& sequences) {
  ScriptCall call{&scripts::held_in_flight, {keys::brood_processes}, {keys::in_flight_hash("").name()}};
  for (const SequenceState& sequence : sequences) {
    call.args.push_back(sequence.name);
    call.args.push_back(sequence.holder);
  }
  return call;
}

std::vector<std::string> read_held_in_flight(ReplyView reply) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reply.size(); ++i) names.emplace_back(reply[i].text());
  return names;
}

ScriptCall pass_sequence_on(const SequenceState& as_it_was) {
  return {&scripts::pass_sequence_on, {keys::brood_sequences}, {as_it_was.name, as_it_was.field}};
}

PassedOn read_passed_on(ReplyView reply) {
  if (reply[0].integer() == -1)
    return {.refused_key = std::string(reply[1].text()), .why = std::string(reply[2].text())};
  return {.is_done = reply[0].integer() == 1};
}

}  // namespace brood
