#pragma once

#include <string>

#include "shared/store/script.hpp"

namespace brood {

// How often one payload has come back from workers whose end nobody saw, within 72 h: the counter that the recovery
// script keeps for jobs without a scoreboard.
inline constexpr int returns_before_death = 3;

ScriptCall returns(const std::string& payload);       // answers the count
ScriptCall count_return(const std::string& payload);  // answers the new count

}  // namespace brood
