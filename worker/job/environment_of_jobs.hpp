#pragma once

#include "shared/config/config.hpp"

namespace brood {

// Sets the variables that jobs, their libraries and the programs that they start find in the environment: Redis, the
// key files, the unit of times, whether locks of sidekiq-unique-jobs are served.  Takes those away that they must not
// find: secrets of error services.  To be called in each process that runs code of users, before it loads a library.
void set_environment_of_jobs(const Config& config);

}  // namespace brood
