#pragma once

#include <string>

#include "shared/config/config.hpp"
#include "supervisor/cli/run/findings.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// Checks every name of a job class or a queue, and the arguments of periodic jobs.  `registered` are the periodic jobs
// of the libraries.  Call it in a child that has loaded the libraries: their code reads the arguments.
Findings unknown_jobs(const Config& config, const JobRegistry& registry, const PeriodicJobSettings& registered);

// Checks every name of a file, a directory or a host that no other check opens.
Findings unknown_places(const Config& config);

// Adds a refusal if this process cannot read the file of a setting, a path or credential:NAME.  An empty name is fine.
void require_readable(const std::string& setting, const std::string& path, Findings& found);

}  // namespace brood
