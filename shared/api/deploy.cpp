#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "shared/api/api_state.hpp"
#include "shared/api/readings.hpp"
#include "shared/job/page_text.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/utc.hpp"

namespace brood {
namespace {

// "2026-11-21T05:09:00Z"; nullopt for anything else, since others may have written it.
std::optional<Time> read_stamp(std::string_view text) {
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
  return to_time(WallTime(std::chrono::sys_days(date)) + std::chrono::hours(number(11, 2)) +
                 std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2)));
}

}  // namespace

bool Api::mark_deploy(std::string_view label, Time at) {
  if (label.empty()) throw std::invalid_argument("a deployment has a label");
  const Utc time(wall_time(at));
  const std::string stamp = fmt::format("{}T{:02}:{:02}:00Z", time.date('-'), time.hour, time.minute);
  return state_->converse([&](ClientConnection& redis) {
    // A deploy to many machines marks itself from each of them: only the first mark counts.
    const Reply first = redis.call({"SET", keys::deploy_lock(label), stamp, "NX", "EX", "60"});
    if (first.view().is_nil()) return false;
    const std::string key = keys::deploy_marks(time.date());
    redis.transaction({{"HSETNX", key, stamp, page_text(label)}, {"EXPIRE", key, "7776000"}});
    return true;
  });
}

std::vector<DeployMark> Api::deploy_marks(Time day) {
  const std::string key = keys::deploy_marks(Utc(wall_time(day)).date());
  const Reply reply = state_->converse([&](ClientConnection& redis) { return redis.call({"HGETALL", key}); });
  std::vector<DeployMark> marks;
  for (std::size_t i = 0; i + 1 < reply.view().size(); i += 2) {
    if (const auto at = read_stamp(reply.view()[i].text())) marks.push_back({*at, lenient_text(reply.view()[i + 1])});
  }
  std::sort(marks.begin(), marks.end(), [](const DeployMark& a, const DeployMark& b) { return a.at < b.at; });
  return marks;
}

}  // namespace brood
