#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace brood {

// The start and end of brood and its companions.

// Call it before anything else: takes the words of the command line, and repairs what the starting program has left:
// closed descriptors, ignored or blocked signals.
void begin_program(int argc, char** argv);

struct Ending {
  int status = 0;                        // the exit status
  std::optional<std::string> complaint;  // one sentence, if an exception was thrown
};

// Runs `command`, which returns the exit status.  Each kind of exception has its own status; an Answer is printed.
Ending run_to_ending(const std::function<int()>& command);

// Prints the complaint on standard error, after `name`, such as "brood status".  Returns the exit status.
int tell(const std::string& name, const Ending& ending);

// The main() of the companion for `brood COMMAND`; `run` gets the words after COMMAND.
int companion_main(int argc, char** argv, const std::string& command, int (*run)(const std::vector<std::string>& args));

}  // namespace brood
