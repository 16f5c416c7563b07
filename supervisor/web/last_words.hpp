#pragma once

#include "shared/base/log.hpp"

namespace brood {

// From now on a crash of this process is told in its log before it ends by the same signal: event=web_crashed with the
// signal and the address, and event=web_stack for each frame, as FILE(FUNCTION+OFFSET) [ADDRESS].  In the form
// of these options, with which the log was opened.  Call it in the first thread; others have their stack followed too,
// as long as that has room.
void tell_crashes_of_page(const log::Options& options);

}  // namespace brood
