#pragma once

#include <string>

#include "shared/config/config.hpp"

namespace brood {

// The path by which `program` is executed: as it is when it has a slash, else that of the first executable file of this
// name in PATH; the name alone when there is none.
std::string executable_path(const std::string& program);

// By which paths this command's program and its directory are found now: those that its configuration holds, if any.
std::string program_path(const CommandSettings& command);
std::string directory_path(const CommandSettings& command);

// Throws a ConfigError for the first command whose program cannot be executed now, or whose directory is not there.
void require_programs(const Config& config);

}  // namespace brood
