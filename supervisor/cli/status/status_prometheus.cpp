#include <string>

#include "supervisor/cli/status/exposition.hpp"
#include "supervisor/cli/status/machine_metrics.hpp"
#include "supervisor/cli/status/redis_metrics.hpp"
#include "supervisor/cli/status/status_report.hpp"
#include "supervisor/version.hpp"

namespace brood {

std::string status_prometheus(const StatusReport& report, MetricsScope scope, Exposition::Format format) {
  Exposition out(format);
  out.gauge("brood_build_info", "1, and the version of the program.");
  out.sample({{"version", std::string(version)}}, 1);
  add_redis_metrics(out, report, scope);
  if (scope != MetricsScope::redis) add_machine_metrics(out, report);
  return out.text();
}

}  // namespace brood
