#pragma once

#include <string>
#include <vector>

#include "supervisor/handover.hpp"

namespace brood {

// The program that takes over when this process executes its own file once more: whatever lies there by then.
class Successor {
 public:
  // `argv` as this program was started, the name of the file first.  Call it early: later the file may be another.
  explicit Successor(std::vector<std::string> argv);

  // The name that the file goes by: as it was called, so that a symbolic link is followed anew.
  const std::string& path() const { return path_; }

  // In a child: executes the successor so that it only looks whether it could take over, and says on standard error why
  // not; exit status 0: it could.  Returns the exit status of a failed exec.
  int execute_check(int handover) const;

  // In place of this program, with its arguments; the descriptors of the handover stay open.  Returns only when that
  // has failed, with a sentence, and then nothing has changed.
  std::string take_over(const Handover& handover) const;

 private:
  std::vector<std::string> command(int handover) const;

  std::vector<std::string> argv_;
  std::string path_;
};

}  // namespace brood
