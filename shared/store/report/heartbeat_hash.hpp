#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// What a process says of itself at one heartbeat (wire specification, section 7.2).
struct Beat {
  std::string info;  // JSON
  int busy = 0;
  WallTime at{};
  bool quiet = false;
  std::uint64_t rss_kb = 0;
  std::int64_t rtt_us = 0;
  int concurrency = 0;
  std::string token;  // another one each time
  std::string state;  // text_of() a SupervisorState
};

struct BeatAnswer {
  // Somebody else beats under this name, and nothing was written: all that follows is empty.
  bool name_is_taken = false;
  bool was_known = false;            // false at the first beat, or back after an outage
  bool was_unlisted = false;         // its record had been lost from brood:processes, and perhaps others' with it
  std::string refused;               // a write beside the heartbeat's own: a key of the wrong type; empty: none
  std::vector<std::string> signals;  // TSTP, TERM, TTIN or anything else, oldest first
};

// `record` is the process's value in brood:processes, where it stays as long as the process owns something in flight.
// `known_tokens` names the tokens that this process may have left there, or is "*" for any; other tokens are another
// process's.
ScriptCall send_beat(std::string_view identity, std::string_view record, std::string_view known_tokens,
                     const Beat& beat);
BeatAnswer read_beat(ReplyView reply);

// Whether the heartbeat of a process is there: nullopt when Redis refuses to tell, which does not prove it missing.
Command ask_whether_beats(std::string_view identity);
std::optional<bool> read_whether_beats(ReplyView reply);

// How many of these processes' heartbeats are there, of one at least; nullopt as above.
Command ask_how_many_beat(std::span<const std::string> identities);
std::optional<std::size_t> read_how_many_beat(ReplyView reply);

// The token that its writer left last; empty: none, or Redis refuses to tell.
Command ask_beat_token(std::string_view identity);
std::string read_beat_token(ReplyView reply);

// What a process, Ruby's too, says of itself: its `info`, a JSON object.  nullopt: its heartbeat has ended, or Redis
// refuses to tell.
Command ask_info(std::string_view identity);
std::optional<std::string> read_info(ReplyView reply);
// Whether Redis tells that its heartbeat has ended.
bool heartbeat_has_ended(ReplyView info);

// The same, and whether it is quiet.
struct ToldInfo {
  std::string info;
  bool quiet = false;
};
Command ask_info_and_quiet(std::string_view identity);
std::optional<ToldInfo> read_info_and_quiet(ReplyView reply);

// The signals alone, between two beats.  The answer may be nil.
Command take_signals(std::string_view identity);
std::vector<std::string> read_signals(ReplyView reply);

// Adds to Sidekiq's counters, of all time and of `day` (YYYY-MM-DD, UTC); the reply is how many of the four refused.
ScriptCall count_jobs(std::uint64_t processed, std::uint64_t failed, std::string_view day);

// What a process that exits takes back; its hash and its signals are left to expire, as Sidekiq leaves them.
std::vector<Command> leave(std::string_view identity);

// What others take back of one that is known to be dead: its hash too.
std::vector<Command> remove_process(std::string_view identity);

}  // namespace brood
