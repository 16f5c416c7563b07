#pragma once

namespace brood {

// How a payload spells its times: Sidekiq 8 writes integer milliseconds, and reads float seconds too; 6 and 7 know only
// float seconds.
enum class TimeUnit { integer_milliseconds, float_seconds };

// Where nothing says which, and no Ruby process runs that would have to read it: as the newest release writes them.
inline constexpr TimeUnit usual_time_unit = TimeUnit::integer_milliseconds;

}  // namespace brood
