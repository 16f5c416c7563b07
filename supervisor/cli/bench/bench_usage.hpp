#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"

namespace brood {

// Processor time of all threads of the processes, in seconds; 0 for one that is gone.
double cpu_seconds(const std::vector<pid_t>& processes);

// Memory that a process shares with no other, in KB.  If the kernel hides this (a process of the same user may shield
// its memory), returns the resident memory that no file backs.
std::uint64_t private_memory_kb(pid_t process);

// A Redis's INFO.
struct RedisUsage {
  std::string version;
  double cpu_seconds = 0;
  std::uint64_t memory_kb = 0;                     // of its data and everything else that it has allocated
  std::int64_t commands = 0;                       // including those that scripts call
  std::int64_t requests = 0;                       // reads from a client: a request or a pipeline of them
  std::int64_t bytes_read = 0, bytes_written = 0;  // from and to its clients
};
// Throws ConnectionLost or UnexpectedReply.
RedisUsage redis_usage(Connection& redis);

}  // namespace brood
