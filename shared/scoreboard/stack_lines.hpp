#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace brood {

// Whether a module is the C or C++ runtime, or brood itself, by the name of its file: a frame in abort() does not say
// who called it.
bool is_machinery(std::string_view module);

// The innermost line of a crash's stack that is the job's own; the first line when none is, empty when there is no
// line.
std::string top_line(const std::vector<std::string>& stack);

}  // namespace brood
