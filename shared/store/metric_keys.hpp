#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/clock.hpp"

// Where release 8 keeps how often and how long classes ran (specification, section 5.7).
namespace brood::keys {

std::string metrics_of_minute(WallTime t);       // j|250214|8:03
std::string metrics_of_ten_minutes(WallTime t);  // j|250214|8:0
std::string histogram_of_minute(std::string_view job_class, WallTime t);

}  // namespace brood::keys
