#pragma once

#include <vector>

#include "shared/store/outcome.hpp"

namespace brood {

// What a failure adds to a payload may make it too large to be stored.  Then it is recorded without its stack and with
// the beginning of its message; and where that is too much too, the entry is kept as it lies in flight, in `dead` if it
// had failed.
enum class OutcomeSize { whole, in_short, as_it_is };
Outcome resized(const Outcome& outcome, OutcomeSize size);

// Of several that were refused together: those that may be to blame, the others stay whole.
void resize(const std::vector<Outcome*>& outcomes, OutcomeSize size);

}  // namespace brood
