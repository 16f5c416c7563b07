#pragma once

#include <string>

#include "supervisor/watch/sample.hpp"

namespace brood::watch {

// Reads the scoreboards of `directory` and what the kernel says of their workers: a few small files for each.
MachineLook look_at_machine(const std::string& directory);

}  // namespace brood::watch
