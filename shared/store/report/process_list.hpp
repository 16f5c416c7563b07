#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// The identities of all processes, also Ruby's, even if their heartbeats have ended: read_name_list() reads the answer.
Command ask_processes();

// The brood processes that own something in flight, brood:processes: read_name_list() reads the answer.  See
// owners.hpp.
Command ask_owners();

// Whether this process is one of those owners; also false if Redis refuses to answer.
Command ask_is_owner(std::string_view identity);
bool read_is_owner(ReplyView reply);

// Whether this process is listed at all; answers 1 or 0.
Command ask_is_process(std::string_view identity);

// The leader of Sidekiq Enterprise, one of these processes; nil if there is none.
Command ask_leader();

// How many processes there are.  Reading throws UnexpectedReply.
Command ask_process_count();
std::int64_t read_process_count(ReplyView reply);

// The heartbeat of a process, also Ruby's, as others read it.  Values that cannot be read count as 0.
struct ProcessHash {
  std::string info;                              // JSON
  std::optional<std::int64_t> concurrency = {};  // release 8 also writes it beside `info`, since it may change
  std::int64_t busy = 0;
  double beat = 0;  // epoch seconds
  bool quiet = false;
  std::int64_t rss_kb = 0, rtt_us = 0;
};

Command ask_process_hash(std::string_view identity);
std::optional<ProcessHash> read_process_hash(ReplyView reply);  // nullopt: expired, or no such hash

Command ask_busy(std::string_view identity);  // how many jobs it runs; nil if it has expired

// Processes whose heartbeat has ended stay listed until some process or client prunes them, as in Sidekiq.

// Only the process that gets this permission may prune, and no other for a minute.
Command may_prune();
bool read_may_prune(ReplyView reply);  // also false if Redis refuses

Command unlist(const std::vector<std::string>& identities);  // at least one

// Leaves a signal, or an order of brood's own, for a process, which takes it by take_signals().  It expires after a
// minute, as in Sidekiq.  Send them as a pipeline or a transaction; the first reply tells whether it was left.
std::vector<Command> leave_signal(std::string_view identity, std::string_view signal);
bool read_was_left(ReplyView first_reply);

}  // namespace brood
