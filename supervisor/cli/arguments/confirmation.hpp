#pragma once

#include <string>

namespace brood {

// Asks the user to confirm what cannot be undone; `sentence` describes it, without its full stop: "deletes 3 jobs".
// With `yes`, returns true without asking.  Throws UsageError if standard input is no terminal.
bool confirmed(const std::string& sentence, bool yes);

}  // namespace brood
