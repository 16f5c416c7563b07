#pragma once

#include "shared/base/log.hpp"

namespace brood {

// From now on a crash of this process is logged before the process ends by the same signal: event=web_crashed with the
// signal and the address, and event=web_stack for each frame, as FILE(FUNCTION+OFFSET) [ADDRESS].  `options` are those
// with which the log was opened.  Call this in the first thread.  Crashes of other threads are logged too, if their
// stack has room.
void log_crashes_of_page(const log::Options& options);

}  // namespace brood
