#pragma once

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {

// main() of a program of figures: `measure` reads the words as brood's own commands read theirs.
template <typename Measure>
int bench_main(int argc, char** argv, Measure measure) {
  try {
    measure(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const Answer& answer) {
    std::fputs(answer.text.c_str(), stdout);
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return exit_status::usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

// The first word says what to measure; it is taken off.  `known` for the message when there is none.
inline std::string take_measure(std::vector<std::string>& words, const std::string& known) {
  if (words.empty() || words.front().starts_with("-")) throw UsageError("say what to measure: " + known);
  const std::string measure = words.front();
  words.erase(words.begin());
  return measure;
}

}  // namespace brood
