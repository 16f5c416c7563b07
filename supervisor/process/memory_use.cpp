#include "supervisor/process/memory_use.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "shared/base/plain_number.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {

namespace {

constexpr std::size_t most_looks = 256;

struct Pages {
  unsigned long resident = 0, shared = 0;
};

// 0 for a process that has ended.  statm costs the kernel a few counters; smaps would walk every page.
Pages pages_of(const std::string& process) {
  const UniqueFd file(::open(("/proc/" + process + "/statm").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  char text[128];
  const ssize_t size = ::read(file.get(), text, sizeof text);
  std::string_view rest(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const auto next = [&rest] {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    return leading_number<decltype(Pages::resident)>(word);
  };
  next();  // all pages
  Pages pages;
  pages.resident = next();
  pages.shared = next();
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
