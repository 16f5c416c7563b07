#include "supervisor/schedule/poll_interval.hpp"

#include <algorithm>

namespace brood {

using std::chrono::nanoseconds;

namespace {

constexpr int many_processes = 10;

nanoseconds scaled(nanoseconds interval, double factor) {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double, std::nano>(interval) * factor);
}

}  // namespace

nanoseconds mean_poll_interval(const PollSettings& settings, int processes) {
  if (settings.fixed_average) return *settings.fixed_average;
  return settings.average_scheduled * std::max(processes, 1);
}

// Ruby processes poll by settings that are not in Redis, so this assumes the defaults.  The longest pause is twice the
// mean.
nanoseconds left_to_ruby_for(int processes) {
  return std::max<nanoseconds>(std::chrono::minutes(1), 3 * mean_poll_interval({}, processes));
}

nanoseconds poll_pause(const PollSettings& settings, int processes, double random) {
  const nanoseconds mean = mean_poll_interval(settings, processes);
  // Sidekiq 8.0.10 and later: with many processes one of them polls at any time, and the wide range keeps them apart.
  if (processes >= many_processes) return scaled(mean, 2 * random);
  return scaled(mean, random + 0.5);
}

nanoseconds initial_wait(const PollSettings& settings, double random) {
  const nanoseconds registration = settings.fixed_average ? std::chrono::seconds(0) : std::chrono::seconds(10);
  return registration + scaled(std::chrono::seconds(5), random);
}

}  // namespace brood
