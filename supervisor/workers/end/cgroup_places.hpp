#pragma once

#include <filesystem>

namespace brood {

// Where the kernel's control groups are to be found; tests put plain files there.
struct CgroupPlaces {
  std::filesystem::path root = "/sys/fs/cgroup";
  std::filesystem::path membership = "/proc/self/cgroup";
};

}  // namespace brood
