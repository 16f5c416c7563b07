#pragma once

#include <string>

#include "shared/base/clock.hpp"
#include "shared/json/json_object.hpp"

namespace brood {

// What tells one of several supervisors from another, of its answer to "status": "tag shop; queues critical, default; 4
// workers; up 3m".  What the answer lacks is left out.
std::string introduction(const JsonObject& status, WallTime now);

}  // namespace brood
