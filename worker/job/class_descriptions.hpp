#pragma once

#include <string>

#include "worker/job/job_registry.hpp"

namespace brood {

// The description of all job classes of this registry, as a supervisor publishes it: one JSON object.  Classes that
// would make it longer than longest_description_of_classes are there only by their names.
std::string describe_classes(const JobRegistry& registry);

}  // namespace brood
