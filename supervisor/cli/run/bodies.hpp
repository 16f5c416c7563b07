#pragma once

#include <memory>

#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"
#include "supervisor/cli/run/run_log.hpp"
#include "supervisor/process/child_bodies.hpp"
#include "supervisor/process/descriptor_limit.hpp"

namespace brood {

// What children have of the supervisor's process.  All of it must outlive the supervisor.
struct OfSupervisor {
  const Identity& identity;
  const DescriptorLimit& descriptor_limit;
  RunLog& log;
};

// What the children run that are forked under this configuration: workers, their templates, and those who recover what
// the dead had in flight.
ChildBodies bodies_under(std::shared_ptr<const Config> config, OfSupervisor supervisor);

}  // namespace brood
