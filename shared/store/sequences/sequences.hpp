#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/script.hpp"

namespace brood {

// The sequences of a Redis.  pieces/sequences.lua describes how jobs enter and leave them.
//
//   brood:sequences          a hash, for each sequence that has jobs: "<epoch ms since when it is held> <jid of the
//                            holder>"
//   brood:sequence:<name>    a list: the payloads that wait for it, the next first
//
// A sequence without jobs has neither.
struct SequenceState {
  std::string name;
  std::string field = {};    // as it stands in the hash
  std::string holder = {};   // the jid of the job that may run
  WallTime since{};          // when that job became the holder; 1970: not known
  std::int64_t waiting = 0;  // jobs behind it
};

struct SequencePage {
  std::string next;  // cursor; "0": there are no more
  std::vector<SequenceState> sequences;
};
inline constexpr std::string_view first_sequence_page = "0";
ScriptCall sequence_page(std::string_view cursor);
SequencePage read_sequence_page(ReplyView reply);  // throws UnexpectedReply

// Calls `look` with each sequence, with some perhaps twice.  Throws ConnectionLost or UnexpectedReply.
void for_each_sequence(Channel& redis, const std::function<void(const SequenceState&)>& look);
// How many jobs wait for the jobs before them.  Throws ConnectionLost or UnexpectedReply.
std::int64_t jobs_waiting_in_sequences(Channel& redis);
// Counts them by the lists, so also those of sequences that the hash lacks.  Scans all keys of that Redis.  Throws
// ConnectionLost or UnexpectedReply.
std::int64_t jobs_in_all_lists_of_sequences(Channel& redis);

// One sequence, and the payloads of the first `most` jobs that wait for it, the next first.
std::vector<Command> ask_sequence(std::string_view name, std::size_t most);
struct ShownSequence {
  SequenceState state;
  std::vector<std::string> waiting;
};
std::optional<ShownSequence> read_sequence(std::string_view name, const std::vector<Reply>& replies);

// Removes a job that waits, with all that it holds.  The reply is 0 when it is not there.
ScriptCall remove_waiting(std::string_view sequence, const std::string& payload);

// ---- The watch over holders that another program has removed.  One supervisor has the turn to watch.

// Answers 1 if there are sequences, else 0.
Command ask_any_sequence();
// Takes the turn unless another supervisor has it.  The second reply names the supervisor that has it then.
std::vector<Command> take_turn_to_watch(std::string_view identity);
// Prolongs the turn.
Command keep_turn_to_watch();

// Stray sequences: jobs wait in them, but the hash has lost their field, so that no page has them.  A look for them
// goes over all keys, page by page.  One supervisor has the turn to look within `between_looks`: it gets the answer
// "OK".
Command take_turn_to_find_strays(std::string_view identity, std::chrono::nanoseconds between_looks);
bool read_has_turn(ReplyView reply);
ScriptCall stray_sequences(std::string_view cursor);
struct StraySequences {
  std::string next;  // cursor; "0": there are no more
  std::vector<std::string> names;
};
StraySequences read_stray_sequences(ReplyView reply);  // throws UnexpectedReply

// Whether a job holds the sequence.  If the holder is not known, any job of the sequence counts as the holder.
bool is_holder(const SequenceState& sequence, std::string_view payload);
// Returns the names of those of the sequences whose holder is in flight.
ScriptCall held_in_flight(const std::vector<SequenceState>& sequences);
std::vector<std::string> read_held_in_flight(ReplyView reply);  // throws UnexpectedReply
// Passes the sequence on, if its field has not changed.
ScriptCall pass_sequence_on(const SequenceState& as_it_was);
struct PassedOn {
  bool is_done = false;
  std::string refused_key = {}, why = {};  // Redis refuses to write there; empty: it has not refused
};
PassedOn read_passed_on(ReplyView reply);  // throws UnexpectedReply

}  // namespace brood
