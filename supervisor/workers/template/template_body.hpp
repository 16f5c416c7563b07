#pragma once

#include "supervisor/workers/template/worker_template.hpp"

namespace brood {

// What a template process runs, in the child: loads, says whether it can be copied, and forks a worker at each request
// until nobody is left to ask.  `line` is its end of the socket.  Returns its exit status.
int run_template(int line, const WorkerTemplate::Setup& setup);

}  // namespace brood
