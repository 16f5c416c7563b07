#pragma once

#include <chrono>
#include <optional>

namespace brood {

// How long the scheduler sleeps between two looks for newly pushed jobs: Sidekiq's arithmetic (wire specification,
// section 6), so that a fleet of brood and Ruby processes shares the polling fairly.  Pure: `random` is a number in [0,
// 1).
struct PollSettings {
  std::chrono::nanoseconds average_scheduled = std::chrono::seconds(5);  // per process: multiplied by their number
  std::optional<std::chrono::nanoseconds> fixed_average = {};            // independent of the number of processes
};

// The mean pause; 0 processes count as 1.
std::chrono::nanoseconds mean_poll_interval(const PollSettings& settings, int processes);

// How long to leave due jobs to the schedulers of Ruby's processes: longer than one pause among so many processes, and
// at least a minute.
std::chrono::nanoseconds left_to_ruby_for(int processes);

// One pause: half to one and a half of the mean, or anything up to twice the mean from ten processes on.
std::chrono::nanoseconds poll_pause(const PollSettings& settings, int processes, double random);

// The wait until the number of processes can be trusted: 10 to 15 s, so that a fleet that starts together has
// registered, or up to 5 s if the number does not matter.
std::chrono::nanoseconds initial_wait(const PollSettings& settings, double random);

}  // namespace brood
