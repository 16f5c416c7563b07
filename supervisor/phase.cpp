#include "supervisor/phase.hpp"

namespace brood {

Phase next_phase(Phase phase, Order order) {
  switch (order) {
    case Order::quiet:
      return phase == Phase::running ? Phase::quiet : phase;
    case Order::resume:
      return phase == Phase::quiet ? Phase::running : phase;
    case Order::stop:
      return phase == Phase::running || phase == Phase::quiet ? Phase::stopping : Phase::killing;
    case Order::deadline_passed:
      return phase == Phase::stopping ? Phase::killing : phase;
  }
  return phase;
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::running:
      return "running";
    case Phase::quiet:
      return "quiet";
    case Phase::stopping:
      return "stopping";
    case Phase::killing:
      return "killing";
  }
  return "unknown";
}

}  // namespace brood
