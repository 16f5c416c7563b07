#include "shared/base/memory_mappings.hpp"

#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>

namespace brood {

std::vector<MemoryMapping> memory_mappings() {
  std::vector<MemoryMapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, offset = 0, inode = 0;
    unsigned major_number = 0, minor_number = 0;
    char rights[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %x:%x %lu %n", &begin, &end, rights, &offset, &major_number,
                    &minor_number, &inode, &path_at) < 7)
      continue;
    found.push_back({reinterpret_cast<char*>(begin), end - begin, rights[1] == 'w', rights[3] == 's',
                     static_cast<off_t>(offset), makedev(major_number, minor_number), inode,
                     line.substr(static_cast<std::size_t>(path_at))});
  }
  return found;
}

}  // namespace brood
