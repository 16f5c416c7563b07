#pragma once

#include "supervisor/workers/template/worker_template.hpp"

namespace brood {

// Runs in a template process: loads the libraries, reports whether it can be copied, and forks a worker at each request
// until the supervisor closes its end.  `line` is the template's end of the socket.  Returns the exit status.
int run_template(int line, const WorkerTemplate::Setup& setup);

}  // namespace brood
