#pragma once

#include <sys/types.h>

#include <cstdint>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// A worker that has been asked for its stack: the answer is in its record's `dump` once that names the request.
struct DumpRequest {
  int slot = 0;
  pid_t pid = 0;
  std::uint32_t request = 0;
  const SlotRecord* record = nullptr;
};

}  // namespace brood
