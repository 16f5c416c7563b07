#include "supervisor/workers/template/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "shared/base/plain_number.hpp"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // linux/mman.h; Debian 12's C library lacks it
#endif

namespace brood {
namespace {

constexpr std::uintptr_t huge_page = 2U << 20U;
constexpr std::uintptr_t worth_it = 16 * huge_page;

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  bool is_own_memory = false;  // private, writable and not of a file
  std::uintptr_t resident = 0;
};

// /proc/self/smaps has "7f0000000000-7f0040000000 rw-p 00000000 00:00 0", and then lines such as "Rss:  1048576 kB".
std::vector<Mapping> mappings() {
  std::vector<Mapping> mappings;
  std::ifstream smaps("/proc/self/smaps");
  for (std::string line; std::getline(smaps, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "Rss:" && !mappings.empty()) {
      words >> plain(mappings.back().resident);
      mappings.back().resident *= 1024;
    } else if (!first.empty() && first.back() != ':') {
      Mapping mapping;
      std::string access, offset, device, inode;
      const char* const end = first.data() + first.size();
      const auto [dash, error] = std::from_chars(first.data(), end, mapping.begin, 16);
      if (error == std::errc() && dash != end) std::from_chars(dash + 1, end, mapping.end, 16);
      words >> access >> offset >> device >> inode;
      mapping.is_own_memory = access.starts_with("rw") && access.ends_with('p') && inode == "0";
      mappings.push_back(mapping);
    }
  }
  return mappings;
}

}  // namespace

std::size_t gather_into_huge_pages() {
  std::size_t gathered = 0;
  for (const Mapping& mapping : mappings()) {
    const std::uintptr_t begin = (mapping.begin + huge_page - 1) & ~(huge_page - 1);
    const std::uintptr_t end = mapping.end & ~(huge_page - 1);
    const std::uintptr_t size = mapping.end - mapping.begin;
    // A mapping that is only partly resident would take more memory than before.
    if (!mapping.is_own_memory || end <= begin || end - begin < worth_it || mapping.resident < size - size / 16)
      continue;
    if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_COLLAPSE) == 0) gathered += end - begin;
  }
  return gathered;
}

}  // namespace brood
