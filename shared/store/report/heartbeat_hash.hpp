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

// The values that a process publishes with one heartbeat (wire specification, section 7.2).
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
  // Another process beats under this name, and nothing was written: the other members are empty.
  bool name_is_taken = false;
  bool was_known = false;     // false at the first beat, and when the heartbeat had expired
  bool was_unlisted = false;  // its record was missing in brood:processes, and perhaps others' too
  std::string refused;  // why Redis refused a write other than the heartbeat itself (a key's type, say); empty: none
  std::vector<std::string> signals;  // TSTP, TERM, TTIN or anything else, oldest first
};

// `record` is the process's value in brood:processes, where it stays as long as the process owns something in flight.
// `known_tokens` lists the tokens that this process may have left there, or is "*" for any; any other token is another
// process's.
ScriptCall send_beat(std::string_view identity, std::string_view record, std::string_view known_tokens,
                     const Beat& beat);
BeatAnswer read_beat(ReplyView reply);

// Whether the heartbeat of a process is there; nullopt if Redis refuses to answer, which does not prove it missing.
Command ask_whether_beats(std::string_view identity);
std::optional<bool> read_whether_beats(ReplyView reply);

// How many heartbeats of these processes, at least one, are there; nullopt as above.
Command ask_how_many_beat(std::span<const std::string> identities);
std::optional<std::size_t> read_how_many_beat(ReplyView reply);

// The token that the heartbeat's writer left last; empty if there is none, or Redis refuses to answer.
Command ask_beat_token(std::string_view identity);
std::string read_beat_token(ReplyView reply);

// The `info` of a process, also Ruby's: a JSON object.  nullopt if its heartbeat has ended, or Redis refuses to answer.
Command ask_info(std::string_view identity);
std::optional<std::string> read_info(ReplyView reply);
// Whether the answer shows that its heartbeat has ended.
bool heartbeat_has_ended(ReplyView info);

// The `info` of a process, and whether the process is quiet.
struct ToldInfo {
  std::string info;
  bool quiet = false;
};
Command ask_info_and_quiet(std::string_view identity);
std::optional<ToldInfo> read_info_and_quiet(ReplyView reply);

// Takes only the signals, between two beats.  The answer may be nil.
Command take_signals(std::string_view identity);
std::vector<std::string> read_signals(ReplyView reply);

// Adds to Sidekiq's counters of all time and of `day` (YYYY-MM-DD, UTC).  The reply is how many of the four refused.
ScriptCall count_jobs(std::uint64_t processed, std::uint64_t failed, std::string_view day);

// Sent by a process that exits.  Its hash and its signals are left to expire, as in Sidekiq.
std::vector<Command> leave(std::string_view identity);

// Sent by others for a process that is known to be dead: removes its hash too.
std::vector<Command> remove_process(std::string_view identity);

}  // namespace brood
