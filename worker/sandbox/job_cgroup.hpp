#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shared/base/host_memory.hpp"
#include "shared/config/sandbox_settings.hpp"

namespace brood {

// The kernel's counts of such a cgroup.
struct MemoryCounts {
  std::uint64_t kills = 0;     // processes that it has ended for want of memory, whichever limit caused it
  std::uint64_t at_limit = 0;  // times that the cgroup's own limit left no memory
};

// A cgroup for the job of one slot and all that it starts, beside that of its worker: how much processor time and
// memory these processes get, and how many there may be.  It counts memory that the limit of one process does not: that
// of all of them together, and files in memory.  The kernel must have delegated a cgroup to the supervisor, which then
// has one for each worker; or, with cgroups of version 1, let this user make some.
class JobCgroup {
 public:
  // For the calling worker of that supervisor, or for the supervisor itself, which only asks what there is.
  JobCgroup(int slot, pid_t supervisor, const CgroupPlaces& places = {});

  // Which of the settings the kernel cannot enforce here, half a sentence each.
  std::vector<std::string> lacks(const SandboxSettings& settings) const;

  // Moves the calling process into the cgroup, and so its later children.  Leaves out the settings that lacks()
  // names.  Throws std::system_error.
  void enter(const SandboxSettings& settings) const;

  MemoryCounts memory_counts() const;

  // Call it once no process is left in the cgroup.
  void remove() const;

 private:
  std::filesystem::path group_of(const std::string& controller) const;

  std::filesystem::path unified_;  // of version 2, whose controllers are shared out below; empty: none
  std::string name_, legacy_name_;
  struct Legacy {
    std::filesystem::path cpu, pids, memory;
  } legacy_;  // of version 1; empty where there is none
};

}  // namespace brood
