#pragma once

#include <string>

namespace brood {

constexpr double kilobyte = 1024;  // in bytes

// The value of a label that names a class or a queue.  An empty name stands for all names that had no room in the
// table.
inline std::string label_of(const std::string& name) { return name.empty() ? "(others)" : name; }

}  // namespace brood
