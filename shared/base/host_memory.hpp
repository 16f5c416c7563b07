#pragma once

#include <cstdint>
#include <filesystem>

namespace brood {

// Where the kernel's control groups are to be found; tests put plain files there.
struct CgroupPlaces {
  std::filesystem::path root = "/sys/fs/cgroup";
  std::filesystem::path membership = "/proc/self/cgroup";
};

// What this process and its workers may have together: all memory of the host, or the least limit of a cgroup above
// them.  0: not known.
std::uint64_t host_memory_bytes(const CgroupPlaces& places = {});

// How many processes the kernel has killed for want of memory: in this process's own memory cgroup if there is a count
// for it (workers and all that they start are in it too), else on the whole host since it booted.
std::uint64_t host_oom_kills(const CgroupPlaces& places = {});

}  // namespace brood
