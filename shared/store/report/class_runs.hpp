#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

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

}  // namespace brood
