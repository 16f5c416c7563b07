#pragma once

#include <string>

#include "shared/config/config.hpp"
#include "supervisor/cli/run/findings.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// Looks at every name that stands for a job class, arguments of one, or a queue.  `registered` are the periodic jobs of
// the libraries.  For a child that has loaded them: the arguments are read by their code.
Findings unknown_jobs(const Config& config, const JobRegistry& registry, const PeriodicJobSettings& registered);

// Looks at every name that stands for a file, a directory or a host, and that no other check opens.
Findings unknown_places(const Config& config);

// Adds a refusal if this process cannot read the file of a setting, a path or credential:NAME.  Empty: it names none.
void require_readable(const std::string& setting, const std::string& path, Findings& found);

}  // namespace brood
