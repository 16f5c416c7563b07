#pragma once

namespace brood {

// How a payload spells its times: Sidekiq 8 writes integer milliseconds, and reads float seconds too; 6 and 7 know only
// float seconds.
enum class TimeUnit { integer_milliseconds, float_seconds };

// The unit if none is configured and no Ruby process runs.  Every release reads seconds.  The pages of 6 and 7 take
// milliseconds for a date far in the future, and so do programs that scale by latency.
inline constexpr TimeUnit usual_time_unit = TimeUnit::float_seconds;

}  // namespace brood
