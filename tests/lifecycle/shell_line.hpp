#pragma once

#include <stdlib.h>
#include <sys/wait.h>

#include <string>

namespace brood {

// Runs a line of shell in which $BROOD is the program; returns its exit status.
inline int shell(const std::string& line) {
  const std::string whole = "BROOD='" BROOD_BINARY_DIR "/bin/brood'; " + line;
  const int status = system(whole.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace brood
