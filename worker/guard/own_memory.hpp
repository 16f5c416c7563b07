#pragma once

#include <cstdint>

namespace brood {

// The memory of this process, as the kernel counts it.
struct OwnMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t data_bytes = 0;  // what RLIMIT_DATA limits, and the stack
};

// By open, read and close alone, so that a signal handler may ask too.  Zeros when it cannot be read.
OwnMemory read_own_memory() noexcept;

}  // namespace brood
