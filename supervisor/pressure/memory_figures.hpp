#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "shared/base/host_memory.hpp"
#include "supervisor/pressure/fetch_allowance.hpp"

namespace brood {

// The kernel's figures on memory: the share of time lost waiting for it (PSI), on this host and in brood's own cgroup
// (version 2), and the events at that cgroup's limits.  Each reading opens the files anew: they are short and reading
// them does not block.
class MemoryFigures {
 public:
  // Where the host's PSI and the cgroups are.
  struct Places {
    std::filesystem::path proc = "/proc";
    CgroupPlaces cgroups = {};
  };
  explicit MemoryFigures(const Places& places);

  // Returns the larger of the host's and the cgroup's figure, and the events since the last reading.
  PressureReading read();

  // For the log: which figures are read, and which are missing.
  std::string sources() const;

 private:
  std::filesystem::path host_;
  std::filesystem::path cgroup_;  // empty if this process is in no cgroup of version 2
  struct Events {
    std::uint64_t own_ooms = 0, own_limits = 0;  // events at the limit of this very cgroup
    std::uint64_t ooms = 0, kills = 0;           // including all cgroups below it
  };
  Events events() const;
  Events seen_;
};

}  // namespace brood
