#pragma once

#include <string>
#include <vector>

#include "shared/base/held_files.hpp"

namespace brood {

// The shared objects that these job libraries need and this program has not loaded yet, as the dynamic linker would
// find them now.  Each comes after those that it needs itself.  The linker lists them in a process of its own, which
// runs none of their code.  Empty if the linker cannot be asked.
std::vector<NeededObject> find_needed_objects(const std::vector<std::string>& libraries);

// Pure.  Parses the output of `ld.so --list`.
std::vector<NeededObject> parse_list_of_linker(const std::string& printed);

// The names of the objects that the shared object at `path` needs itself.  Empty for any other file.
std::vector<std::string> names_needed_by(const std::string& path);

}  // namespace brood
