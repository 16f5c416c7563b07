#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/config/config.hpp"

namespace brood {

// In a child of the supervisor: becomes the page that [web] wants, which goes by the configuration that runs and ends
// with the supervisor.  The others are what the command line says.  Returns an exit status only where that fails.
int become_page(const Config& config, const std::string& config_path, const std::vector<std::string>& libraries,
                const std::optional<std::string>& redis_url);

}  // namespace brood
