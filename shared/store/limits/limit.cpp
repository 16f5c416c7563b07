#include "shared/store/limits/limit.hpp"

#include <algorithm>
#include <array>

#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"

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
    return limit.kind == LimitKind::points
               ? "a limiter's points refill by more than 0 a second, and all of them within 366 days"
               : "a limiter's interval is 1 ms to 366 days";
  if (limit.wanted < 0) return "less than 0 is wanted of a limiter";
  if (limit.wanted > limit.amount) return "more is wanted of a limiter than it ever allows";
  if (limit.known_for < shortest_limit_knowledge || limit.known_for > longest_limit_knowledge)
    return "a limiter is known for 24 hours to 10 years";
  return "";
}

namespace scripts {
extern const Script show_limit, reset_limit;
}

Command ask_limit_names() { return {"ZRANGE", keys::brood_limits, "0", "-1"}; }

ScriptCall show_limit(const std::string& name) {
  return {&scripts::show_limit, {keys::brood_limits, keys::limit(name), keys::limit_used(name)}, {}};
}

std::optional<LimitView> read_limit_view(ReplyView reply) {
  if (reply.size() == 0) return std::nullopt;
  const std::optional<LimitKind> kind = limit_kind(reply[0].text());
  if (!kind) return std::nullopt;
  LimitView view;
  view.kind = *kind;
  view.amount = lenient_number<std::int64_t>(reply[1]);
  view.interval = std::chrono::milliseconds(lenient_number<std::int64_t>(reply[2]));
  view.held = lenient_decimal(reply[3]);
  const ReplyView counts = reply[4];
  std::size_t i = 0;
  for (std::int64_t* count : {&view.taken, &view.waited, &view.waited_ms, &view.over, &view.reclaimed})
    *count = lenient_number<std::int64_t>(counts[i++]);
  for (i = 0; i < reply[5].size(); ++i) view.holders.emplace_back(reply[5][i].text());
  return view;
}

ScriptCall reset_limit(const std::string& name) {
  return {&scripts::reset_limit, {keys::brood_limits, keys::limit(name), keys::limit_used(name)}, {}};
}

std::optional<std::int64_t> read_reset_limit(ReplyView reply) {
  if (reply.integer() < 0) return std::nullopt;
  return reply.integer();
}

}  // namespace brood
