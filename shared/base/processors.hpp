#pragma once

#include <filesystem>

namespace brood {

// The kernel's files about the processors that a process may use; tests put plain files there.
struct ProcessorPlaces {
  std::filesystem::path cgroups = "/sys/fs/cgroup";
  std::filesystem::path membership = "/proc/self/cgroup";
};

// How many processors this process may keep busy, at least 1.  These are the ones `allowed` by its affinity, but no
// more than the quota of its control group, or of one above it, rounded up.  Looks at both versions of control groups.
int usable_processors(int allowed, const ProcessorPlaces& places = {});

// The same for the present affinity of this process.
int usable_processors();

}  // namespace brood
