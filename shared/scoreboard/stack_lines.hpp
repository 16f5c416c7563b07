#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The C and C++ runtime and brood itself, by the name of the file: an abort() says nothing of who called it.
bool is_machinery(std::string_view module);

// Of the lines of a stack, as a crash is told and kept, the innermost that is the job's own; the first when none is,
// and empty when there is no line.
std::string top_line(const std::vector<std::string>& stack);

}  // namespace brood
