#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/held_files.hpp"
#include "shared/base/unique_fd.hpp"
#include "supervisor/upgrade/handover_record.hpp"

namespace brood {

// The program that takes over when this process executes its own file again: whatever lies there by then.
class Successor {
 public:
  // `argv` as this program was started, the name of the file first.  Call it early: later another file may lie there,
  // and the environment lacks what only the service itself may know (see ServiceNotify).  `path`: where the program
  // lies, if a program before us in this process knew it.
  explicit Successor(std::vector<std::string> argv, std::string path = "");

  // The path of the file, as this program was called: so a symbolic link is followed anew.
  const std::string& path() const { return path_; }

  // In a child: executes the successor as take_over() would, with the same words, but with the handover of a rehearsal.
  // The successor says on standard error why it could not take over; exit status 0 and a signature mean that it could.
  // Returns only the exit status of a failed exec.
  int rehearse(int handover) const;

  // Executes the successor in place of this program, with its arguments and the environment that it was started with;
  // the descriptors of the handover stay open.  Returns only when that has failed, with a sentence; then nothing has
  // changed.
  std::string take_over(const Handover& handover) const;

  // The file of this program's page, which stays open for the way back.
  void keep_page(std::optional<HeldFiles::Entry> page) { page_ = std::move(page); }
  const std::optional<HeldFiles::Entry>& page() const { return page_; }

 private:
  std::vector<std::string> command(int handover) const;

  std::vector<std::string> argv_, environment_;
  std::string path_;
  UniqueFd program_;  // this one's file
  std::optional<HeldFiles::Entry> page_;
};

}  // namespace brood
