#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/cli/run/findings.hpp"

namespace brood {

// Prints what a part of the check has found.  Returns an exit status.
int say(const Findings& found);

// Whether the code of jobs can be used.  The supervisor's process loads no job library, not even to check it: all of
// this runs in a child.

// Prints what the libraries and programs bring, or why they cannot be loaded, and which names of jobs and queues in the
// configuration stand for nothing: see check_names.hpp.  Sets `has_warnings` if some of them may.  Returns an exit
// status.
int check_libraries(const Config& config, bool& has_warnings);

// For each capsule, starts a child as its first worker would start; the child then ends.  Prints and returns the same.
int check_startup(const Config& config);

// For a caller that is such a child already.  Empty when all libraries can be loaded and all programs executed.
std::string why_not_loadable(const Config& config);

// What the libraries need, besides what this program has, as the dynamic linker would find it now.  One process asks,
// and may write it to a file for another.
std::vector<NeededObject> find_needed_objects(const Config& config);
void write_needed_objects(const std::vector<NeededObject>& objects, int file);
std::vector<NeededObject> read_needed_objects(int file);

}  // namespace brood
