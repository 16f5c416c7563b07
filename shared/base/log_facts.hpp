#pragma once

#include <string_view>
#include <vector>

#include "shared/base/log.hpp"

namespace brood::log {

// What every further line of this process has as well, until it is cleared: what a job says of itself.  A line's own
// fact of the same name wins.  False: no name of 1 to 64 of A-Z a-z 0-9 _ . -, one that every line has itself, or the
// seventeenth.  Of a value 1,000 bytes are kept.
bool set_standing_fact(std::string_view name, std::string_view value);
void clear_standing_facts();

const std::vector<Fact>& standing_facts();

}  // namespace brood::log
