#include "shared/store/report/metrics_teller.hpp"

#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr std::string_view seconds_to_live = "90";

}  // namespace

MetricsTeller take_turn_to_tell(Channel& redis, std::string_view name, bool may_not_take) {
  const Reply held = redis.call({"GET", keys::brood_metrics_teller});
  if (held.view().is_string()) {
    if (held.view().text() != name) return MetricsTeller::another;
    // If it has ended this moment and another has taken it, that one has it for a little longer.
    redis.call({"EXPIRE", keys::brood_metrics_teller, seconds_to_live});
    return MetricsTeller::we;
  }
  if (!held.view().is_nil() || may_not_take) return MetricsTeller::unknown;
  const Reply taken = redis.call({"SET", keys::brood_metrics_teller, name, "NX", "EX", seconds_to_live});
  if (taken.view().is_error()) return MetricsTeller::unknown;
  return taken.view().is_nil() ? MetricsTeller::another : MetricsTeller::we;
}

}  // namespace brood
