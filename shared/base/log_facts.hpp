#pragma once

#include <string_view>
#include <vector>

#include "shared/base/log.hpp"

namespace brood::log {

// Adds a fact to every further line of this process, until it is cleared: what a job says of itself.  A line's own fact
// of the same name wins.  False when the name is not 1 to 64 of A-Z a-z 0-9 _ . -, when every line has it anyway, and
// for a seventeenth name.  A value is cut to 1,000 bytes.
bool set_standing_fact(std::string_view name, std::string_view value);
void clear_standing_facts();

const std::vector<Fact>& standing_facts();

}  // namespace brood::log
