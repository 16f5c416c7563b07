#pragma once

#include <string>

#include "shared/base/clock.hpp"
#include "shared/json/json_object.hpp"

namespace brood {

// Tells people which of several supervisors this is, by its answer to "status": "tag shop; queues critical, default; 4
// workers; up 3m".  What the answer does not say is left out.
std::string introduction(const JsonObject& status, WallTime now);

}  // namespace brood
