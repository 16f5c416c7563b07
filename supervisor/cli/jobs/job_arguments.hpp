#pragma once

#include <optional>
#include <string>
#include <vector>

namespace brood {

class CommandLine;

// The arguments of a job on the command line: each word that parses as JSON is that value, else a string.
struct JobArguments {
  std::optional<std::string> array;  // --args: all of them as one JSON array
  bool all_strings = false;          // --string

  void add_options(CommandLine& line);

  // As a JSON array.  Throws UsageError.
  std::string json(const std::vector<std::string>& words) const;
};

}  // namespace brood
