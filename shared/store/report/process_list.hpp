#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// The identities of all processes, Ruby's too, whose heartbeats may have ended: read_name_list() reads the answer.
Command ask_processes();

// Those of brood's processes that own something in flight, brood:processes; read likewise.  See owners.hpp.
Command ask_owners();

// Whether this one is among them; answers 1 or 0.
Command ask_is_process(std::string_view identity);

// The leader of Sidekiq Enterprise, one of them; nil: there is none.
Command ask_leader();

// How many they are.  Reading throws UnexpectedReply.
Command ask_process_count();
std::int64_t read_process_count(ReplyView reply);

// The heartbeat of a process, Ruby's too, as others read it.  What cannot be read counts as 0.
struct ProcessHash {
  std::string info;                              // JSON
  std::optional<std::int64_t> concurrency = {};  // release 8 writes it beside `info` too, because it may change there
  std::int64_t busy = 0;
  double beat = 0;  // epoch seconds
  bool quiet = false;
  std::int64_t rss_kb = 0, rtt_us = 0;
};

Command ask_process_hash(std::string_view identity);
std::optional<ProcessHash> read_process_hash(ReplyView reply);  // nullopt: it has expired, or is no such hash

Command ask_busy(std::string_view identity);  // how many jobs it runs; nothing when it has expired

// Processes whose heartbeat has ended stay listed until some process or client takes them out, as Sidekiq's do.

// Whoever is told so may prune; nobody else for a minute.
Command may_prune();
bool read_may_prune(ReplyView reply);  // false too when Redis refuses

Command unlist(const std::vector<std::string>& identities);  // one at least

// Leaves a signal, or an order of brood's own, for a process, which take_signals() takes; after a minute it is
// forgotten, as Sidekiq's are.  To be sent as a pipeline or a transaction; the first reply says whether it was left.
std::vector<Command> leave_signal(std::string_view identity, std::string_view signal);
bool read_was_left(ReplyView first_reply);

}  // namespace brood
