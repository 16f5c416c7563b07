#include "shared/scoreboard/run_note.hpp"

#include <algorithm>

#include "shared/scoreboard/class_usage.hpp"

namespace brood {
namespace {

constexpr int state_bits = 2, index_bits = 9;
constexpr int waited_bits = 1, queue_bits = 8;
constexpr std::uint64_t longest_ms = 366ULL * 24 * 3600 * 1000;

static_assert(max_usage_classes < 1 << index_bits);
static_assert(max_usage_queues < 1 << queue_bits);

}  // namespace

std::uint64_t RunNote::word() const {
  return static_cast<std::uint64_t>(state) | static_cast<std::uint64_t>(class_index) << state_bits |
         std::min(ms, longest_ms) << (state_bits + index_bits);
}

RunNote RunNote::read(std::uint64_t word) {
  const auto index = static_cast<int>(word >> state_bits & ((1U << index_bits) - 1));
  return {.state = static_cast<State>(word & ((1U << state_bits) - 1)),
          .class_index = std::min(index, max_usage_classes),
          .ms = std::min(word >> (state_bits + index_bits), longest_ms)};
}

std::uint64_t RunStart::word() const {
  return (waited_ms ? 1U : 0U) | static_cast<std::uint64_t>(queue_index) << waited_bits |
         std::min(waited_ms.value_or(0), longest_ms) << (waited_bits + queue_bits);
}

RunStart RunStart::read(std::uint64_t word) {
  const auto index = static_cast<int>(word >> waited_bits & ((1U << queue_bits) - 1));
  RunStart start{.queue_index = std::min(index, max_usage_queues), .waited_ms = std::nullopt};
  if ((word & 1) != 0) start.waited_ms = std::min(word >> (waited_bits + queue_bits), longest_ms);
  return start;
}

}  // namespace brood
