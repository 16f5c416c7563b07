#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brood {

// The kinds of limits that jobs have: see <brood/limiter.hpp>.
enum class LimitKind {
  concurrent,  // so many at once
  bucket,      // so many in each interval of the clock
  window,      // so many in any interval
  leaky,       // so many at once, which run out in an interval
  points,      // as that; how many were used is known afterwards
};
inline constexpr int limit_kinds = 5;
std::string_view to_string(LimitKind kind);  // as the scripts spell it
std::optional<LimitKind> limit_kind(std::string_view text);

// A limit, as the code of a job defines it, and how much of it is wanted.
struct Limit {
  std::string name;
  LimitKind kind = LimitKind::concurrent;
  std::int64_t amount = 1;
  std::chrono::milliseconds interval{0};  // not of concurrent
  std::int64_t wanted = 1;
  std::chrono::seconds known_for{0};         // after its last use
  std::chrono::milliseconds defined_ago{0};  // of two definitions of one name the later holds; at most longest_defined
};

// What a name may be, and the numbers of a limit.
bool is_limit_name(std::string_view name);  // [A-Za-z0-9_-]+, at most 100
inline constexpr std::int64_t most_at_once = 10'000;
inline constexpr std::int64_t most_of_interval = 1'000'000'000;
inline constexpr std::size_t most_limits_together = 16;
inline constexpr std::chrono::milliseconds longest_wait_for_limits = std::chrono::hours(24 * 366);
inline constexpr std::chrono::milliseconds longest_defined = std::chrono::hours(24 * 36600);
inline constexpr std::chrono::milliseconds longest_limit_interval = std::chrono::hours(24 * 366);
inline constexpr std::chrono::seconds shortest_limit_knowledge = std::chrono::hours(24);
inline constexpr std::chrono::seconds longest_limit_knowledge = std::chrono::hours(24 * 3660);
// Empty: `limit` is one; else what is wrong with it.
std::string why_no_limit(const Limit& limit);

}  // namespace brood
