#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "shared/store/limits/take_limits.hpp"

namespace brood {

// A limit that is called "erp".
inline Limit limit(LimitKind kind, std::int64_t amount, std::chrono::milliseconds interval = {},
                   std::int64_t wanted = 1) {
  return {.name = "erp",
          .kind = kind,
          .amount = amount,
          .interval = interval,
          .wanted = wanted,
          .known_for = std::chrono::hours(24)};
}
inline const Limit one_slot = limit(LimitKind::concurrent, 1);

// One of several workers that had the same slot, one after the other.
inline LimitHolder holder(int incarnation, std::uint64_t number = 0) {
  return {.identity = "host:1:abc", .field = "0." + std::to_string(incarnation), .number = number};
}

}  // namespace brood
