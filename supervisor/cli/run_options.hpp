#pragma once

#include <string>
#include <vector>

#include "supervisor/cli/run.hpp"

namespace brood {

// The flags of `brood run`, with Sidekiq's letters.  Values are checked by load_config.  Throws UsageError, or Answer.
RunOptions parse_run_options(const std::vector<std::string>& args);

}  // namespace brood
