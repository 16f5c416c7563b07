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
// there too: what cannot be read counts as 0.
struct ClassRuns {
  std::uint64_t processed = 0, failed = 0, milliseconds = 0;
};

// Of all classes in the `length` before `now`: to the minute up to an hour, beyond to ten of them.
std::vector<Command> ask_runs_of_all(WallTime now, std::chrono::minutes length);
std::map<std::string, ClassRuns> read_runs_of_all(std::span<const Reply> replies);

// Of one class in each of these minutes.
std::vector<Command> ask_runs_by_minute(std::string_view job_class, const std::vector<WallTime>& minutes);
struct RunsOfMinute : ClassRuns {
  std::vector<std::uint32_t> histogram = {};  // histogram_buckets of them
};
std::vector<RunsOfMinute> read_runs_by_minute(std::span<const Reply> replies);

// So many classes hold up Redis for less than a millisecond.
inline constexpr std::size_t most_classes_a_call = 16;

// Adds what classes have done and used, at most most_classes_a_call of them, to the metrics of Sidekiq 7 and 8 (wire
// specification, section 5.7) and to the day's usage.  The reply is how many keys refused; an error reply says that
// nothing was added.
ScriptCall count_runs(const std::vector<ClassUsage>& classes, WallTime now);

// Of all hosts whose metrics are asked for, one tells what is true of the whole Redis: the first, for as long as it is
// asked at least every ninety seconds.  After that another is.
enum class MetricsTeller {
  we,
  another,
  unknown,  // nobody does, and our user may not write it down
};

// `name` is ours among all hosts.  A user who `may_not_take` it, as the answer was before, need not try again.  Throws
// ConnectionLost.
MetricsTeller take_turn_to_tell(Channel& redis, std::string_view name, bool may_not_take = false);

}  // namespace brood
