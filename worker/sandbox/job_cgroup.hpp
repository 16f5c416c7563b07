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
  std::uint64_t kills = 0;     // processes that it has killed for want of memory, whichever limit caused it
  std::uint64_t at_limit = 0;  // times that the cgroup's own limit left no memory
};

// A cgroup for the job of one slot and all that it starts, beside that of its worker.  It limits the processor time and
// the memory of these processes, and their number.  Unlike the limit of one process, it counts the memory of all of
// them together, and files in memory.  A cgroup must have been delegated to the supervisor, which then has one for each
// worker; or, with cgroups of version 1, this user must be allowed to make some.
class JobCgroup {
 public:
  // For the calling worker of that supervisor; or for the supervisor itself, which only calls lacks().
  JobCgroup(int slot, pid_t supervisor, const CgroupPlaces& places = {});

  // Which of the settings the kernel cannot enforce here, half a sentence each.
  std::vector<std::string> lacks(const SandboxSettings& settings) const;

  // Moves the calling process, and so its later children, into the cgroup.  Leaves out the settings that lacks() names.
  // Throws std::system_error.
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
  } legacy_;  // of version 1; empty: there is none
};

}  // namespace brood
