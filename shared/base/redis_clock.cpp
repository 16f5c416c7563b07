#include "shared/base/redis_clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto fresh_for = 30s;
constexpr std::chrono::nanoseconds clock_was_set = 100ms;

// Atomics, for programs with threads.  A thread that reads a mix of old and new values only asks Redis once more.
std::atomic<std::int64_t> redis_ahead{0};  // of the steady clock, in nanoseconds
std::atomic<std::int64_t> own_ahead{0};    // the same of the host's clock, at that moment
std::atomic<std::int64_t> noted_at{0};     // by the steady clock; 0: never

std::int64_t count(SteadyTime t) { return t.time_since_epoch().count(); }
std::int64_t count(WallTime t) { return t.time_since_epoch().count(); }

}  // namespace

WallTime redis_now() {
  if (noted_at.load() == 0) return wall_now();
  return WallTime(std::chrono::nanoseconds(count(steady_now()) + redis_ahead.load()));
}

void note_redis_time(WallTime time, SteadyTime asked, SteadyTime answered) {
  const SteadyTime now = steady_now();
  const std::int64_t least = count(time) - count(answered), most = count(time) - count(asked);
  redis_ahead.store(noted_at.load() == 0 ? least + (most - least) / 2 : std::clamp(redis_ahead.load(), least, most));
  own_ahead.store(count(wall_now()) - count(now));
  noted_at.store(count(now));
}

void forget_redis_time() { noted_at.store(0); }

bool redis_time_is_known() { return noted_at.load() != 0; }

bool redis_time_is_fresh() {
  const std::int64_t noted = noted_at.load();
  const SteadyTime now = steady_now();
  if (noted == 0 || count(now) - noted > std::chrono::nanoseconds(fresh_for).count()) return false;
  const std::int64_t moved = count(wall_now()) - count(now) - own_ahead.load();
  return moved < clock_was_set.count() && -moved < clock_was_set.count();
}

}  // namespace brood
