#pragma once

#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/upgrade/handover_record.hpp"

namespace brood {

// The program that takes over when this process executes its own file once more: whatever lies there by then.
class Successor {
 public:
  // `argv` as this program was started, the name of the file first.  Call it early: later the file may be another, and
  // the environment has lost what only the service itself may know (see ServiceNotify).
  // `path`: where the program lies, if another in this process knew it.
  explicit Successor(std::vector<std::string> argv, std::string path = "");

  // The name that the file goes by: as it was called, so that a symbolic link is followed anew.
  const std::string& path() const { return path_; }

  // In a child: executes the successor as it will be, with the same words, but with the handover of a rehearsal.  It
  // says on standard error why it could not take over; exit status 0 and a signature: it could.  Returns the exit
  // status of a failed exec.
  int rehearse(int handover) const;

  // Executes the successor in place of this program, with its arguments and the environment that it was started with;
  // the descriptors of the handover stay open.  Returns only when that has failed, with a sentence; then nothing has
  // changed.
  std::string take_over(const Handover& handover) const;

 private:
  std::vector<std::string> command(int handover) const;

  std::vector<std::string> argv_, environment_;
  std::string path_;
  UniqueFd program_;  // this one's file
};

}  // namespace brood
