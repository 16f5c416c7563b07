#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// The kinds of limits that jobs have, each with an amount N: see <brood/limiter.hpp>.
enum class LimitKind {
  concurrent,  // N at once
  bucket,      // N in each interval of the clock
  window,      // N in any interval
  leaky,       // N at once; a full bucket runs empty in one interval
  points,      // as leaky; how much was used is known afterwards
};
inline constexpr int limit_kinds = 5;
std::string_view to_string(LimitKind kind);  // in the scripts' spelling
std::optional<LimitKind> limit_kind(std::string_view text);

// A limit as a job's code defines it, and how much of it the job wants.
struct Limit {
  std::string name;
  LimitKind kind = LimitKind::concurrent;
  std::int64_t amount = 1;
  std::chrono::milliseconds interval{0};  // unless concurrent
  std::int64_t wanted = 1;
  std::chrono::seconds known_for{0};         // how long Redis keeps it after its last use
  std::chrono::milliseconds defined_ago{0};  // of two definitions the later one applies; at most longest_defined
};

// The names and numbers that a limit may have.
bool is_limit_name(std::string_view name);  // [A-Za-z0-9_-]+, at most 100 bytes
inline constexpr std::int64_t most_at_once = 10'000;
inline constexpr std::int64_t most_of_interval = 1'000'000'000;
inline constexpr std::size_t most_limits_together = 16;
inline constexpr std::chrono::milliseconds longest_wait_for_limits = std::chrono::hours(24 * 366);
inline constexpr std::chrono::milliseconds longest_defined = std::chrono::hours(24 * 36600);
inline constexpr std::chrono::milliseconds longest_limit_interval = std::chrono::hours(24 * 366);
inline constexpr std::chrono::seconds shortest_limit_knowledge = std::chrono::hours(24);
inline constexpr std::chrono::seconds longest_limit_knowledge = std::chrono::hours(24 * 3660);
// Returns what is wrong with `limit`; empty if it is valid.
std::string why_no_limit(const Limit& limit);

// A limit as shown to operators.
struct LimitView {
  LimitKind kind = LimitKind::concurrent;
  std::int64_t amount = 0;
  std::chrono::milliseconds interval{0};
  double held = 0;  // slots, or what is used of the interval
  std::int64_t taken = 0, waited = 0, waited_ms = 0, over = 0;
  std::int64_t reclaimed = 0;        // slots of holders that have settled or died without giving them back
  std::vector<std::string> holders;  // of its slots: "<identity>/<slot>.<incarnation>"
};

// The names of all limits used of late: read_name_list() reads the answer.
Command ask_limit_names();
ScriptCall show_limit(const std::string& name);
std::optional<LimitView> read_limit_view(ReplyView reply);  // nullopt: no such limit.  Throws UnexpectedReply

// Frees what is used of its interval, and begins its counts anew; slots that are held stay held.
ScriptCall reset_limit(const std::string& name);
std::optional<std::int64_t> read_reset_limit(ReplyView reply);  // how many are held; nullopt: there is no such limit

}  // namespace brood
