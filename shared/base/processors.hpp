#pragma once

#include <filesystem>

namespace brood {

// The kernel's files about the processors that a process may use; tests put plain files there.
struct ProcessorPlaces {
  std::filesystem::path cgroups = "/sys/fs/cgroup";
  std::filesystem::path membership = "/proc/self/cgroup";
};

// How many processors this process may keep busy, at least 1: `allowed` by its affinity, and no more than the quota of
// its control group, or of one above it, rounded up.  Both versions of control groups are looked at.
int usable_processors(int allowed, const ProcessorPlaces& places = {});

// The same by the present affinity.
int usable_processors();

}  // namespace brood
