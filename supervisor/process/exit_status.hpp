#pragma once

#include <string>

namespace brood {

// How a process ended, as waitid reports it.
struct ExitStatus {
  bool exited = false;  // else a signal ended it
  int value = 0;        // exit status, or the signal's number
  bool core_dumped = false;
  std::string describe() const;  // "exited with 3", "killed by SIGSEGV"
};

}  // namespace brood
