#pragma once

#include <string>

namespace brood {

// Whether to do what cannot be undone.  `sentence` says what that is, without its full stop: "deletes 3 jobs".
// With `yes` nobody is asked.  On a terminal the user is; where standard input is none, this throws UsageError.
bool confirmed(const std::string& sentence, bool yes);

}  // namespace brood
