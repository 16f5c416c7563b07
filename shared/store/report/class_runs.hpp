#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/reply.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "shared/store/script.hpp"

namespace brood {

// How often classes ran and for how long, as Sidekiq 8 keeps it (specification, section 5.7).  Other programs write
// there too: values that cannot be read count as 0.
struct ClassRuns {
  std::uint64_t processed = 0, failed = 0, milliseconds = 0;
};

// For all classes in the `length` before `now`: in steps of a minute up to an hour, else of ten minutes.
std::vector<Command> ask_runs_of_all(WallTime now, std::chrono::minutes length);
std::map<std::string, ClassRuns> read_runs_of_all(std::span<const Reply> replies);

// For one class in each of these minutes.
std::vector<Command> ask_runs_by_minute(std::string_view job_class, const std::vector<WallTime>& minutes);
struct RunsOfMinute : ClassRuns {
  std::vector<std::uint32_t> histogram = {};  // histogram_buckets of them
};
std::vector<RunsOfMinute> read_runs_by_minute(std::span<const Reply> replies);

// How many classes one script counts: these take Redis less than a millisecond.
inline constexpr std::size_t most_classes_a_call = 16;

// Adds the usage of at most most_classes_a_call classes to the metrics of Sidekiq 7 and 8 (wire specification, section
// 5.7) and to the day's usage.  The reply is how many keys refused; an error reply means that nothing was added.
ScriptCall count_runs(const std::vector<ClassUsage>& classes, WallTime now);

// One host reports the metrics that concern the whole Redis: the first host whose metrics are read.  It keeps the turn
// as long as its metrics are read at least every ninety seconds.
enum class MetricsTeller {
  we,
  another,
  unknown,  // no host does, and our user may not write the key
};

// `name` is our host's.  With `may_not_take`, for use after a refusal, only looks and does not try to take the turn.
// Throws ConnectionLost.
MetricsTeller take_turn_to_tell(Channel& redis, std::string_view name, bool may_not_take = false);

}  // namespace brood
