#pragma once

#include <string_view>

#include "shared/store/outcome.hpp"

namespace brood {

// True for the error with which Redis refuses a text that is longer than its proto-max-bulk-len, before it has looked
// at the command.  It closes the connection, and would refuse the same bytes for ever.
bool refused_for_its_size(std::string_view error);

// What a failure adds to a payload may make it too large to be stored.  Then it is recorded without its stack and with
// the beginning of its message; and where that is too much too, the entry is kept as it lies in flight, in `dead` if it
// had failed.
enum class OutcomeSize { whole, in_short, as_it_is };
Outcome resized(const Outcome& outcome, OutcomeSize size);

}  // namespace brood
