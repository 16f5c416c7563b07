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

namespace {

constexpr unsigned bits_of_index = 16;
constexpr std::uint64_t index_mask = (std::uint64_t{1} << bits_of_index) - 1;

}  // namespace

void RecentClasses::note(int index, std::uint64_t run) {
  std::size_t at = newest.load(std::memory_order_relaxed) % recent_classes_kept;
  const std::uint64_t last = runs[at].load(std::memory_order_relaxed);
  const std::uint64_t own = static_cast<std::uint64_t>(index) & index_mask;
  if (last != 0 && (last & index_mask) != own) {
    at = (at + 1) % recent_classes_kept;
    newest.store(static_cast<std::uint32_t>(at), std::memory_order_relaxed);
  }
  runs[at].store((run + 1) << bits_of_index | own, std::memory_order_relaxed);
}

void RecentClasses::clear() {
  for (auto& run : runs) run.store(0);
  newest.store(0);
}

std::vector<PrecedingRun> preceding_runs(const RecentClasses& recent, std::uint64_t run) {
  std::vector<PrecedingRun> preceding;
  int own = -1;
  const std::size_t newest = recent.newest.load() % recent_classes_kept;
  for (std::size_t back = 0; back < recent_classes_kept; ++back) {
    const std::uint64_t noted = recent.runs[(newest + recent_classes_kept - back) % recent_classes_kept].load();
    const int index = static_cast<int>(noted & index_mask);
    const std::uint64_t number = noted >> bits_of_index;
    if (back == 0 && number == run + 1) own = index;
    if (number == 0 || number > run || index == own || index > max_usage_classes) continue;
    const auto is_same = [&](const PrecedingRun& one) { return one.index == index; };
    if (std::none_of(preceding.begin(), preceding.end(), is_same)) preceding.push_back({index, run - (number - 1)});
  }
  return preceding;
}

std::optional<LastRun> last_run(const RecentClasses& recent) {
  const std::uint64_t newest = recent.runs[recent.newest.load() % recent_classes_kept].load();
  const std::uint64_t number = newest >> bits_of_index;
  if (number == 0) return std::nullopt;
  LastRun last{static_cast<int>(newest & index_mask), number - 1, number - 1};
  for (const auto& noted : recent.runs) {
    const std::uint64_t older = noted.load() >> bits_of_index;
    if (older != 0) last.oldest = std::min(last.oldest, older - 1);
  }
  return last;
}

}  // namespace brood
