#pragma once

#include "supervisor/cli/status/exposition.hpp"
#include "supervisor/cli/status/status_report.hpp"

namespace brood {

// The figures in Redis, and those of the processes that use it: in `scope` host, only of those of this machine.
void add_redis_metrics(Exposition& out, const StatusReport& report, MetricsScope scope);

}  // namespace brood
