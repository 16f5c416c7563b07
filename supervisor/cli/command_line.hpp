#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace brood {

// How the program ends; from sysexits.h.
namespace exit_status {
inline constexpr int ok = 0;
inline constexpr int usage = 64;
inline constexpr int unavailable = 69;  // Redis does not answer, or no supervisor
inline constexpr int internal = 70;
inline constexpr int try_again = 75;  // not now: a job does not run here, a worker does not answer
inline constexpr int configuration = 78;
}  // namespace exit_status

// A command line that cannot be obeyed.  what() is one sentence.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Help or the version was asked for: `text` is the answer, and nothing else is done.
struct Answer {
  std::string text;
};

// Adds -h and -V and parses `args`.  Returns what is neither an option nor an option's value, in order, unchanged
// (CLI11 would take "[1,2]" apart); all that follows "--" is such.  Of an option given twice the last one counts.
// Throws UsageError, or Answer.
std::vector<std::string> parse_arguments(CLI::App& app, const std::vector<std::string>& args);

// For commands that take none.
void refuse_arguments(const std::vector<std::string>& arguments);

// -C, else /etc/brood/brood.toml where it can be read, else none.
std::string config_path_or_default(const std::string& given);

}  // namespace brood
