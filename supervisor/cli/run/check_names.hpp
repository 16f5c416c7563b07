#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// Names in the configuration that stand for nothing here, a sentence each.
struct UnknownNames {
  std::vector<std::string> refusals;  // what cannot work: a periodic job whose class is not there, say
  std::vector<std::string> warnings;  // what another process or machine may have: a queue that no capsule here fetches
};

// Looks at every name that stands for a job class, arguments of one, or a queue.  `registered` are the periodic jobs of
// the libraries.  For a child that has loaded them: the arguments are read by their code.
UnknownNames unknown_jobs(const Config& config, const JobRegistry& registry, const PeriodicJobSettings& registered);

// Looks at every name that stands for a file, a directory, a host or a user, and that no other check opens.
UnknownNames unknown_places(const Config& config);

}  // namespace brood
