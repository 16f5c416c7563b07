#include "worker/guard/own_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace brood {

OwnMemory read_own_memory() noexcept {
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[128];
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  // The fields, in pages: size resident shared text lib data dt.  sscanf() is not async-signal-safe.
  std::uint64_t fields[7] = {};
  int field = 0;
  for (ssize_t i = 0; i < size && field < 7; ++i) {
    if (text[i] >= '0' && text[i] <= '9')
      fields[field] = fields[field] * 10 + static_cast<std::uint64_t>(text[i] - '0');
    else
      ++field;
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {.resident_bytes = fields[1] * page, .data_bytes = fields[5] * page};
}

}  // namespace brood
