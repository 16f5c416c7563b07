#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace brood {

// The resources of a process at this moment, from /proc.  Only root sees the descriptors of a supervisor.
struct Footprint {
  long rss_kb = 0;
  std::size_t descriptors = 0;
  std::size_t zombies = 0;  // children that are not reaped
  std::chrono::milliseconds cpu{};
};
Footprint footprint_of(pid_t pid);

// The living processes that have a file below `directory` mapped: a supervisor that keeps its scoreboard there, and all
// its descendants without another exec, wherever they are now.
std::vector<pid_t> processes_of(const std::string& directory);

}  // namespace brood
