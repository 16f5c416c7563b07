#include "shared/store/report/deploy_marks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "shared/job/page_text.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/redis_time.hpp"

namespace brood {
namespace {

constexpr std::string_view seconds_of_lock = "60", seconds_of_marks = "7776000";  // as Sidekiq's

std::string stamp_of(const Utc& time) {
  return fmt::format("{}T{:02}:{:02}:00Z", time.date('-'), time.hour, time.minute);
}

// "2026-11-21T05:09:00Z"; nullopt for any other text, which another program may have written.
std::optional<WallTime> read_stamp(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool fits = shape[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == shape[i];
    if (!fits) return std::nullopt;
  }
  const auto number = [&](std::size_t begin, std::size_t length) {
    int value = 0;
    std::from_chars(text.data() + begin, text.data() + begin + length, value);
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  if (!date.ok() || number(0, 4) < 1970 || number(0, 4) > 2260) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(number(11, 2)) +
         std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2));
}

}  // namespace

Command may_mark_deploy(std::string_view label, WallTime at) {
  return {"SET", keys::deploy_lock(label), stamp_of(Utc(at)), "NX", "EX", seconds_of_lock};
}

bool read_may_mark(ReplyView reply) { return !reply.is_nil(); }

std::vector<Command> mark_deploy(std::string_view label, WallTime at) {
  const Utc time(at);
  const RedisKey key = keys::deploy_marks(time.date());
  return {{"HSETNX", key, stamp_of(time), page_text(label)}, {"EXPIRE", key, seconds_of_marks}};
}

Command ask_deploy_marks(WallTime day) { return {"HGETALL", keys::deploy_marks(Utc(day).date())}; }

std::vector<MarkOfDeploy> read_deploy_marks(ReplyView reply) {
  std::vector<MarkOfDeploy> marks;
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
    if (const auto at = read_stamp(reply[i].text())) marks.push_back({*at, lenient_text(reply[i + 1])});
  }
  std::sort(marks.begin(), marks.end(), [](const MarkOfDeploy& a, const MarkOfDeploy& b) { return a.at < b.at; });
  return marks;
}

}  // namespace brood
