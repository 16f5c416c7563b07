#pragma once

#include "shared/config/config.hpp"

namespace brood {

// Sets the environment of jobs, their libraries and the programs that they start: Redis, the key files, the unit of
// times, and whether locks of sidekiq-unique-jobs are served.  Removes the secrets of error services.  Call it in each
// process that runs code of users, before it loads a library.
void set_environment_of_jobs(const Config& config);

}  // namespace brood
