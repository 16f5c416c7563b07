#pragma once

#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/store/rights.hpp"

namespace brood {

// The keys of a supervisor with this identity and of workers with these capsules, including the queues in which their
// jobs may be set aside.  Pure.
OwnKeys own_keys(const std::vector<CapsuleSettings>& capsules, std::string identity);

}  // namespace brood
