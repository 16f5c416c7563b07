#pragma once

#include <vector>

#include "shared/config/config.hpp"

namespace brood {

// Opens all files that children of this configuration need again and again: its job libraries and the objects that
// these need, the programs of commands, directories, keys, and the working directory.  From then on the configuration
// uses these very files, wherever their paths lead later.
void hold_files(Config& config, const std::vector<NeededObject>& needed);

// In a child: changes into the working directory that the configuration holds, if it holds one.
void enter_directory_of(const Config& config);

}  // namespace brood
