#include "shared/store/sets/due_entries.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"

namespace brood {

namespace scripts {
extern const Script first_score;
}

constinit const std::array<std::string_view, 2> due_sets{keys::retry.name(), keys::schedule.name()};

std::string due_score(WallTime t) {
  const auto us = std::chrono::floor<std::chrono::microseconds>(t.time_since_epoch()).count();
  return fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000);
}

Command ask_first_score(std::string_view set_key, const std::optional<std::string>& above) {
  return ScriptCall{&scripts::first_score, {RedisKey(set_key)}, {above.value_or("")}}.command();
}

std::optional<std::string> read_first_score(ReplyView reply) {
  if (reply.is_nil()) return std::nullopt;
  return std::string(reply.text());
}

Command ask_scheduled_below(std::string_view score) {
  return {"ZCOUNT", keys::schedule, "-inf", "(" + std::string(score)};
}

std::int64_t read_scheduled_below(ReplyView reply) { return reply.integer(); }

Command ask_due_entries(std::string_view set_key, const std::string& score, std::size_t skipped, std::size_t count) {
  return {"ZRANGEBYSCORE",         RedisKey(set_key),    "-inf", score, "WITHSCORES", "LIMIT",
          std::to_string(skipped), std::to_string(count)};
}

DueEntries::DueEntries(Reply reply) : reply_(std::move(reply)), size_(reply_.view().size() / 2) {}

EntryAsRead DueEntries::operator[](std::size_t i) const {
  const ReplyView entries = reply_.view();
  return {entries[2 * i].text(), entries[2 * i + 1].text()};
}

}  // namespace brood
