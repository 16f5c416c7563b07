#pragma once

#include <brood/client.hpp>
#include <cstddef>
#include <string>

#include "supervisor/cli/jobs/job_lines.hpp"

namespace brood {

struct PushedLines {
  std::size_t pushed = 0;
  std::size_t refused = 0;  // unique jobs whose lock another job holds
  std::size_t unfit = 0;    // lines that are no jobs, or whose classes would not take them
};

// Pushes every line of `path` ("-": standard input), each a JSON object with class and args; skips blank lines.
// Reports a line that is no job, or whose class would not take it, on standard error, and pushes the rest.  Shows
// progress when standard error is a terminal.
PushedLines push_lines(Client& client, const std::string& path, const LineOptions& options = {});

// "1 unique job is not pushed: another holds its lock".
std::string locks_held_by_others(std::size_t jobs);

}  // namespace brood
