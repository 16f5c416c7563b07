#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "shared/base/host_memory.hpp"
#include "supervisor/pressure/fetch_allowance.hpp"

namespace brood {

// What the kernel says of memory: how much of the time is lost waiting for it (PSI), on this host and in brood's own
// cgroup (version 2), and what happened at that cgroup's limits.  Every reading opens the files anew: they are short,
// and reading them does not wait.
class MemoryFigures {
 public:
  // Where the host's PSI lies, and the cgroups.
  struct Places {
    std::filesystem::path proc = "/proc";
    CgroupPlaces cgroups = {};
  };
  explicit MemoryFigures(const Places& places);

  // The larger of the host's and the cgroup's figure, and what happened since the last reading.
  PressureReading read();

  // For the log: what is read, and what is not there.
  std::string sources() const;

 private:
  std::filesystem::path host_;
  std::filesystem::path cgroup_;  // empty: this process is in none of version 2
  struct Events {
    std::uint64_t own_ooms = 0, own_limits = 0;  // at the limit of this very cgroup
    std::uint64_t ooms = 0, kills = 0;           // with all below it
  };
  Events events() const;
  Events seen_;
};

}  // namespace brood
