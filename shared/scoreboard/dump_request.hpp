#pragma once

#include <sys/types.h>

#include <cstdint>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// A worker that was asked for its stack.  The answer is in `dump` of its record once `dump` has this request's number.
struct DumpRequest {
  int slot = 0;
  pid_t pid = 0;
  std::uint32_t request = 0;
  const SlotRecord* record = nullptr;
};

}  // namespace brood
