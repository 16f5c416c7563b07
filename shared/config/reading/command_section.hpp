#pragma once

#include <optional>
#include <string>

#include "shared/config/config.hpp"
#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [commands.NAME].
void read_command(const std::string& name, const setting::Place& at, const ConfigSection& section,
                  CommandSettings& command);

// Reads the program of [on_error].
void read_error_program(const ConfigSection& section, std::optional<CommandSettings>& on_error);

}  // namespace brood
