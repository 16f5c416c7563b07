#include "shared/store/report/metric_keys.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "shared/store/redis_time.hpp"

namespace brood::keys {

RedisKey metrics_of_minute(WallTime t) {
  const Utc utc(t);
  return RedisKey(fmt::format("j|{:02}{:02}{:02}|{}:{:02}", utc.year % 100, utc.month, utc.day, utc.hour, utc.minute));
}

RedisKey metrics_of_ten_minutes(WallTime t) {
  std::string key = metrics_of_minute(t).name();
  key.pop_back();
  return RedisKey(std::move(key));
}

RedisKey histogram_of_minute(std::string_view job_class, WallTime t) {
  const Utc utc(t);
  return RedisKey(fmt::format("h|{}-{}-{}:{}", job_class, utc.day, utc.hour, utc.minute));
}

RedisKey metrics_of_minute_in_7(WallTime t) {
  const Utc utc(t);
  return RedisKey(fmt::format("j|{}|{}:{}", utc.date(), utc.hour, utc.minute));
}

RedisKey histogram_of_minute_in_7(std::string_view job_class, WallTime t) {
  const Utc utc(t);
  return RedisKey(fmt::format("{}-{:02}-{:02}:{}", job_class, utc.day, utc.hour, utc.minute));
}

}  // namespace brood::keys
