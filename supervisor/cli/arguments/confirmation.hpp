#pragma once

#include <string>

namespace brood {

// Whether to do something that cannot be undone.  `sentence` is what, without its full stop: "deletes 3 jobs".  With
// `yes` there is no question.  Otherwise the user is asked on the terminal; throws UsageError when standard input is no
// terminal.
bool confirmed(const std::string& sentence, bool yes);

}  // namespace brood
