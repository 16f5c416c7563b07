#pragma once

#include <memory>

#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"
#include "supervisor/cli/run/run_log.hpp"
#include "supervisor/process/child_program.hpp"
#include "supervisor/process/descriptor_limit.hpp"

namespace brood {

// The parts of the supervisor's process that its children use.  All of them must outlive the supervisor.
struct OfSupervisor {
  const Identity& identity;
  const DescriptorLimit& descriptor_limit;
  RunLog& log;
};

// The code of the children that are forked under this configuration: workers, their templates, and recoveries of jobs
// that dead workers had in flight.
std::shared_ptr<ChildProgram> worker_program(std::shared_ptr<const Config> config, OfSupervisor supervisor);

}  // namespace brood
