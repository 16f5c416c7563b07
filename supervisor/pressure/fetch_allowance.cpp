#include "supervisor/pressure/fetch_allowance.hpp"

#include <algorithm>

namespace brood {

void FetchAllowance::set_limit(int percent) {
  limit_ = percent;
  if (percent == 0) allowed_.reset();
}

std::optional<int> FetchAllowance::allowed(const PressureReading& reading, int workers, SteadyTime now) {
  if (limit_ == 0) return std::nullopt;
  const double stalled = reading.stalled.value_or(0);
  const bool pressed = reading.killed || stalled >= (reading.at_limit ? limit_ / 2 : limit_);
  if (pressed || stalled >= limit_ / 2) last_pressure_ = now;
  if (pressed) {
    if (allowed_ && now - last_step_ < (reading.killed ? after_a_kill : between_steps)) return allowed_;
    allowed_ = std::max(1, std::min(allowed_.value_or(workers), workers) / 2);
    last_step_ = now;
  } else if (allowed_ && now - std::max(last_step_, last_pressure_) >= between_steps) {
    *allowed_ += std::max(1, workers / 4);
    last_step_ = now;
  }
  if (allowed_ && *allowed_ >= workers && !pressed) allowed_.reset();
  return allowed_;
}

}  // namespace brood
