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

// The sequences of a Redis: pieces/sequences.lua says how jobs enter and leave them.
//
//   brood:sequences          a hash: for each sequence that has jobs, "<ms since its holder holds it> <jid of its
//   holder>" brood:sequence:<name>    a list: the payloads that wait for it, the next first
//
// A sequence without jobs has neither.
struct SequenceState {
  std::string name;
  std::string field = {};    // as it stands in the hash
  std::string holder = {};   // the jid of the job that may run
  WallTime since{};          // when that became the holder; 1970: not known
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
// How many jobs wait for the jobs before them.  Throws as that.
std::int64_t jobs_waiting_in_sequences(Channel& redis);
// The same by their lists, also of sequences that the hash lacks.  Scans all keys of that Redis.  Throws as that.
std::int64_t jobs_in_all_lists_of_sequences(Channel& redis);

// One sequence, and the payloads of some jobs that wait for it; from the next on.
std::vector<Command> ask_sequence(std::string_view name, std::size_t most);
struct ShownSequence {
  SequenceState state;
  std::vector<std::string> waiting;
};
std::optional<ShownSequence> read_sequence(std::string_view name, const std::vector<Reply>& replies);

// Removes a job that waits, with all that it holds.  The reply is 0 when it is not there.
ScriptCall remove_waiting(std::string_view sequence, const std::string& payload);

// For the watch over holders that something else than brood has removed.  How many keys of sequences there are, 0 or 1;
// whose turn it is to watch, by the answer to the second command; and a turn that goes on.
Command ask_any_sequence();
std::vector<Command> take_turn_to_watch(std::string_view identity);
Command keep_turn_to_watch();

// Sequences in which jobs wait without a field in the hash, so that no page has them: a field was deleted.  Whose turn
// it is to look for them: "OK" is the answer to one supervisor within `between_looks`.  A look goes over all keys, page
// by page.
Command take_turn_to_find_strays(std::string_view identity, std::chrono::nanoseconds between_looks);
bool read_has_turn(ReplyView reply);
ScriptCall stray_sequences(std::string_view cursor);
struct StraySequences {
  std::string next;  // cursor; "0": there are no more
  std::vector<std::string> names;
};
StraySequences read_stray_sequences(ReplyView reply);  // throws UnexpectedReply

// Whether a job is the one that holds the sequence; any job of the sequence, if the holder is not known.
bool is_holder(const SequenceState& sequence, std::string_view payload);
// The names of those of these sequences whose holder is in flight.
ScriptCall held_in_flight(const std::vector<SequenceState>& sequences);
std::vector<std::string> read_held_in_flight(ReplyView reply);  // throws UnexpectedReply
// Passes the sequence on, if it still is as it was.
ScriptCall pass_sequence_on(const SequenceState& as_it_was);
struct PassedOn {
  bool is_done = false;
  std::string refused_key = {}, why = {};  // Redis refuses to write there; empty: it has not refused
};
PassedOn read_passed_on(ReplyView reply);  // throws UnexpectedReply

}  // namespace brood
