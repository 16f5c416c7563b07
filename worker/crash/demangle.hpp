#pragma once

#include <string>

namespace brood {

// A C++ name, of a function or a type, as people write it, cut to a readable length.  A name that is not mangled comes
// back as it is, cut alike.  Standard strings are called by their short name.
std::string demangled(const std::string& name);

}  // namespace brood
