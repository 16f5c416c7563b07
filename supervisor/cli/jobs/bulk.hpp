#pragma once

#include <brood/client.hpp>
#include <cstddef>
#include <string>

#include "supervisor/cli/jobs/job_lines.hpp"

namespace brood {

struct PushedLines {
  std::size_t pushed = 0;
  std::size_t refused = 0;  // unique jobs whose lock another job holds
  std::size_t unfit = 0;    // jobs that their classes would not take
};

// Pushes every line of `path` ("-": standard input), each a JSON object with class and args; skips blank lines.
// Reports a job that its class would not take on standard error, and pushes the rest.  Stops at the first line that is
// no job: the lines before it are pushed, and std::invalid_argument names it.  Shows progress when standard error is a
// terminal.
PushedLines push_lines(Client& client, const std::string& path, const LineOptions& options = {});

}  // namespace brood
