#pragma once

#include <vector>

#include "shared/scoreboard/dump_request.hpp"

namespace brood {

// The body of a short-lived child.  It waits until the workers in `asked` have written their stacks, and logs the
// stacks, one frame a line.  Returns the child's exit status.
int log_stacks(const std::vector<DumpRequest>& asked);

// The same for one worker.  It writes to `descriptor` a JSON object with `slot`, `pid`, `class` and `jid` of its job,
// `answered` and `frames`.
int tell_stack(const DumpRequest& asked, int descriptor);

}  // namespace brood
