#include "shared/store/limits/limit.hpp"

#include <algorithm>
#include <array>

namespace brood {
namespace {

constexpr std::array<std::string_view, limit_kinds> kind_names{"concurrent", "bucket", "window", "leaky", "points"};
constexpr std::size_t longest_limit_name = 100;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::string_view to_string(LimitKind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }

std::optional<LimitKind> limit_kind(std::string_view text) {
  const auto found = std::find(kind_names.begin(), kind_names.end(), text);
  if (found == kind_names.end()) return std::nullopt;
  return static_cast<LimitKind>(found - kind_names.begin());
}

bool is_limit_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_limit_name && std::all_of(name.begin(), name.end(), is_name_character);
}

std::string why_no_limit(const Limit& limit) {
  using namespace std::chrono_literals;
  const bool at_once = limit.kind == LimitKind::concurrent;
  if (!is_limit_name(limit.name)) return "a limiter's name is 1 to 100 of A-Z a-z 0-9 _ -";
  if (limit.amount < 1 || limit.amount > (at_once ? most_at_once : most_of_interval))
    return at_once ? "a limiter has 1 to 10,000 slots" : "a limiter allows 1 to 1,000,000,000 in its interval";
  if (!at_once && (limit.interval < 1ms || limit.interval > longest_limit_interval))
    return "a limiter's interval is 1 ms to 366 days";
  if (limit.wanted < 0 || limit.wanted > limit.amount) return "more is wanted of a limiter than it ever allows";
  if (limit.known_for < shortest_limit_knowledge || limit.known_for > longest_limit_knowledge)
    return "a limiter is known for 24 hours to 10 years";
  return "";
}

}  // namespace brood
