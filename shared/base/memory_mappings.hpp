#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace brood {

// A part of this process's memory, as /proc/self/maps tells it.
struct MemoryMapping {
  char* begin = nullptr;
  std::size_t size = 0;
  bool is_writable = false, is_shared = false;
  off_t offset = 0;
  dev_t device = 0;  // as the kernel tells it here; on btrfs fstat() tells another one
  ino_t inode = 0;
  std::string path;  // or what stands in its place, such as "anon_inode:[io_uring]"

  bool contains(const void* address) const { return begin <= address && address < begin + size; }
};

// Empty where there is no /proc.
std::vector<MemoryMapping> memory_mappings();

}  // namespace brood
