#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

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

}  // namespace brood
