#include "shared/store/redis_time.hpp"

#include <fmt/format.h>

#include "shared/base/redis_clock.hpp"

namespace brood {

using namespace std::chrono_literals;

Command ask_time() { return {"TIME"}; }

WallTime redis_time(ReplyView reply) {
  return WallTime(std::chrono::seconds(reply[0].integer()) + std::chrono::microseconds(reply[1].integer()));
}

void forget_time_of_another(const RedisAddress& redis) {
  if (!redis.shard.empty()) forget_redis_time();
}

void ask_redis_time(Channel& redis) {
  if (redis_time_is_fresh()) return;
  try {
    const SteadyTime asked = steady_now();
    const std::vector<Reply> replies = redis.call_patiently({ask_time()}, {.longest = 1s, .longest_connect = 1s});
    if (replies.front().view().is_array()) note_redis_time(redis_time(replies.front().view()), asked, steady_now());
  } catch (const ConnectionLost&) {
    return;
  }
}

Utc::Utc(WallTime t) {
  const auto days = std::chrono::floor<std::chrono::days>(t);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::minutes>(t - days));
  year = static_cast<int>(date.year());
  month = static_cast<unsigned>(date.month());
  day = static_cast<unsigned>(date.day());
  hour = static_cast<int>(time.hours().count());
  minute = static_cast<int>(time.minutes().count());
}

std::string Utc::date(char separator) const {
  return fmt::format("{:04}{}{:02}{}{:02}", year, separator, month, separator, day);
}

std::string Utc::date() const { return fmt::format("{:04}{:02}{:02}", year, month, day); }

}  // namespace brood
