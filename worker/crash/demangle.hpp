#pragma once

#include <string>

namespace brood {

// A C++ name as people write it, of a function or a type, cut to a readable length; what is no mangled name comes back
// as it is, cut alike.  Standard strings are called by their short name.
std::string demangled(const std::string& name);

}  // namespace brood
