#include "supervisor/cli/arguments/confirmation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {

bool confirmed(const std::string& sentence, bool yes) {
  if (yes) return true;
  if (isatty(STDIN_FILENO) != 1)
    throw UsageError(fmt::format("this {}: use --yes without a terminal, or --dry-run to look first", sentence));
  fmt::print(stderr, "This {}.  Go on? [y/N] ", sentence);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return true;
  fmt::print(stderr, "Nothing was done.\n");
  return false;
}

}  // namespace brood
