#pragma once

#include <cstdint>

namespace brood {

// The memory of this process, as the kernel counts it, in bytes.
struct OwnMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t data_bytes = 0;  // the memory that RLIMIT_DATA limits, and the stack
};

// Calls only open, read and close, so that a signal handler may call it.  Returns zeros if the memory cannot be read.
OwnMemory read_own_memory() noexcept;

}  // namespace brood
