#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace brood {

// Programs that come with brood, with code that few commands need: `brood status --watch` becomes brood-watch, `brood
// bench` becomes brood-bench, `brood import` becomes brood-import.  They lie beside brood in a build tree, and in
// libexec/brood when installed.

// what() names the missing program and the paths that were tried.
class CompanionMissing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The path of `program`.  Throws CompanionMissing.
std::string path_of_companion(const std::string& program);

// Becomes `program`, with the words of `brood COMMAND ARGS...`, so that `ps` shows the same.  Throws CompanionMissing,
// or std::system_error.
[[noreturn]] void become_companion(const std::string& program, const std::string& command,
                                   const std::vector<std::string>& args);
// The same for the program at this path.
[[noreturn]] void become_companion_at(const std::string& path, const std::string& command,
                                      const std::vector<std::string>& args);

// The reverse: the path of the brood that a companion belongs to.  Throws CompanionMissing.
std::string brood_of_companion();

}  // namespace brood
