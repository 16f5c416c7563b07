#pragma once

#include "supervisor/cli/status/exposition.hpp"
#include "supervisor/cli/status/status_report.hpp"

namespace brood {

// The figures of this machine: of its workers, the classes and queues that they ran, and its supervisors.
void add_machine_metrics(Exposition& out, const StatusReport& report);

}  // namespace brood
