#pragma once

#include <string>

namespace brood {

// Returns the name of a C++ function or type as it stands in source code, cut to a readable length.  A name that is not
// mangled is only cut.  Standard strings have their short names in it.
std::string demangled(const std::string& name);

}  // namespace brood
