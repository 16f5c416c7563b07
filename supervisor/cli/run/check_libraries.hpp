#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/cli/run/check_warnings.hpp"
#include "supervisor/cli/run/findings.hpp"

namespace brood {

// Prints the findings of a part of the check.  Returns an exit status.
int say(const Findings& found, const CheckWarnings& warnings);

// Checks whether the code of jobs can be used.  The supervisor's process loads no job library, not even to check it:
// all of this runs in a child.

// Prints the classes of the libraries and the programs, or why they cannot be loaded, and the names of jobs and queues
// in the configuration that stand for nothing: see check_names.hpp.  Returns an exit status.
int check_libraries(const Config& config, const CheckWarnings& warnings);

// Starts a child for each capsule, in the way its first worker would start; the child then ends.  Prints the findings
// and returns an exit status.
int check_startup(const Config& config);

// The same as check_libraries() for a caller that is such a child already.  Empty if all libraries can be loaded and
// all programs executed.
std::string why_not_loadable(const Config& config);

// The objects that the libraries need and that this program does not have, as the dynamic linker would find them now.
// One process can write the answer to a file for another.
std::vector<NeededObject> find_needed_objects(const Config& config);
void write_needed_objects(const std::vector<NeededObject>& objects, int file);
std::vector<NeededObject> read_needed_objects(int file);

}  // namespace brood
