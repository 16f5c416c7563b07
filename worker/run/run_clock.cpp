#include "worker/run/run_clock.hpp"

namespace brood {

std::optional<std::chrono::milliseconds> RunClock::time_left() const {
  const auto deadline = slot_.deadline();
  if (!deadline) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(*deadline - steady_now());
}

void RunClock::set_time_left(std::chrono::milliseconds left) {
  if (moves_deadline_) slot_.set_deadline(steady_now() + left);
}

// Where the deadline cannot be moved the run ends in time, and the next one goes on.
bool RunClock::ends_between_items() {
  const SteadyTime now = steady_now();
  const auto left = time_left();
  items_.next_item(now, left);
  if (!items_.timeout() || !left) return false;
  if (items_.overran(now, left)) return true;
  if (!moves_deadline_) return !items_.fits_another(left);
  if (*left < *items_.timeout()) slot_.set_deadline(now + *items_.timeout());
  return false;
}

bool RunClock::was_too_long() const {
  return items_.iterates() ? items_.overran(steady_now(), time_left()) : out_of_time();
}

}  // namespace brood
