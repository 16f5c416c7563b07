#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/store/rights.hpp"

namespace brood {

// What a supervisor of this identity, and workers with these capsules, use; also the queues in which their jobs may be
// set aside.  Pure.
OwnKeys own_keys(const std::vector<CapsuleSettings>& capsules, std::string identity);

}  // namespace brood
