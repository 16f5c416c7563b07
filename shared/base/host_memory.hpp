#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace brood {

// The kernel's files about control groups; tests put plain files there.
struct CgroupPlaces {
  std::filesystem::path root = "/sys/fs/cgroup";
  std::filesystem::path membership = "/proc/self/cgroup";
};

// How many bytes of memory this process and its workers may use together: all of the host's, or the least limit of a
// cgroup above them.  0 if not known.
std::uint64_t host_memory_bytes(const CgroupPlaces& places = {});

// How many processes the kernel has killed for want of memory.  Counts those in this process's own memory cgroup, which
// includes workers and all that they start; without such a count, those on the whole host since it booted.
std::uint64_t host_oom_kills(const CgroupPlaces& places = {});

// A part of this process's memory, from /proc/self/maps.
struct MemoryMapping {
  char* begin = nullptr;
  std::size_t size = 0;
  bool is_writable = false, is_shared = false;
  off_t offset = 0;
  dev_t device = 0;  // from that file; on btrfs fstat() gives another one
  ino_t inode = 0;
  std::string path;  // or a text such as "anon_inode:[io_uring]"

  bool contains(const void* address) const { return begin <= address && address < begin + size; }
};

// Empty if there is no /proc.
std::vector<MemoryMapping> memory_mappings();

}  // namespace brood
