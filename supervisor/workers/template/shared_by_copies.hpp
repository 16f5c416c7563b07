#pragma once

#include <set>
#include <string>
#include <vector>

namespace brood {

// Describes what copies of this process would share with each other, or lack, although a library expects to own it:
// threads, connections and other descriptors with a state, timers, file locks, child processes.  Each is a phrase: "a
// thread named pool-1", "a socket (descriptor 9)".  Skips descriptors in `known`, and regular files, directories and
// memory, which copies may share.
std::vector<std::string> shared_by_copies(const std::set<int>& known);

// The open descriptors of this process.
std::set<int> open_descriptors();

}  // namespace brood
