#include "supervisor/schedule/fleet_times.hpp"

#include <chrono>
#include <vector>

namespace brood {
namespace {

constexpr auto unit_known_for = std::chrono::seconds(60);  // a process that died is listed for as long

}  // namespace

void FleetTimes::look(const Then& then) {
  if (told_) return then(*told_);
  if (known_at_ && steady_now() - *known_at_ < unit_known_for) return then(known_);
  look_.look([this, then](const std::optional<std::vector<RubyProcess>>& living) {
    if (living) {
      known_ = times_beside(oldest_release(*living));
      known_at_ = steady_now();
    }
    then(known_);
  });
}

}  // namespace brood
