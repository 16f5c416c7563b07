#include "supervisor/process/memory_use.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "shared/base/unique_fd.hpp"

namespace brood {

namespace {

constexpr std::size_t most_looks = 256;

struct Pages {
  unsigned long resident = 0, shared = 0;
};

// A process that is gone has no pages.  statm costs the kernel a few counters; smaps would walk every page.
Pages pages_of(const std::string& process) {
  const UniqueFd file(::open(("/proc/" + process + "/statm").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  char text[128];
  const ssize_t size = ::read(file.get(), text, sizeof text - 1);
  if (size <= 0) return {};
  text[size] = '\0';
  Pages pages;
  if (std::sscanf(text, "%*u %lu %lu", &pages.resident, &pages.shared) != 2) return {};
  return pages;
}

}  // namespace

std::uint64_t memory_use_kb(const std::vector<pid_t>& workers) {
  const std::uint64_t page_kb = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  std::uint64_t own_pages = 0;
  const std::size_t looks = std::min(workers.size(), most_looks);
  for (std::size_t i = 0; i < looks; ++i) {
    const Pages pages = pages_of(std::to_string(workers[i]));
    own_pages += pages.resident - std::min(pages.shared, pages.resident);
  }
  if (looks > 0) own_pages = own_pages * workers.size() / looks;
  return (pages_of("self").resident + own_pages) * page_kb;
}

}  // namespace brood
