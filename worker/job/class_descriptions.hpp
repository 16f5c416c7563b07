#pragma once

#include <string>

#include "worker/job/job_registry.hpp"

namespace brood {

// What all job classes of this registry say of themselves, as a supervisor publishes it: one JSON object.  A class that
// would make it longer than longest_description_of_classes is there by its name alone.
std::string describe_classes(const JobRegistry& registry);

}  // namespace brood
