#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/held_files.hpp"
#include "shared/base/unique_fd.hpp"
#include "supervisor/upgrade/handover_record.hpp"

namespace brood {

// The program that takes over when this process executes its own file again.  The file may hold another version.
class Successor {
 public:
  // `argv` is this program's, the name of the file first.  Call it early: later another file may be there, and the
  // service's variables are removed from the environment (see ServiceNotify).  `path` is the program's path, if a
  // previous program in this process knew it.
  explicit Successor(std::vector<std::string> argv, std::string path = "");

  // The path by which this program was called, so a symbolic link is followed anew.
  const std::string& path() const { return path_; }

  // In a child: executes the successor with the arguments of take_over(), but with the handover of a rehearsal.  The
  // successor writes to standard error why it could not take over.  Exit status 0 and a signature mean that it could.
  // Returns only if the exec fails, with an exit status.
  int rehearse(int handover) const;

  // Executes the successor in place of this program, with its arguments and original environment; the descriptors of
  // the handover stay open.  Returns a sentence only if that fails; then nothing has changed.
  std::string take_over(const Handover& handover) const;

  // The file of this program's page, which stays open for the way back.
  void keep_page(std::optional<HeldFiles::Entry> page) { page_ = std::move(page); }
  const std::optional<HeldFiles::Entry>& page() const { return page_; }

 private:
  std::vector<std::string> command(int handover) const;

  std::vector<std::string> argv_, environment_;
  std::string path_;
  UniqueFd program_;  // this program's file
  std::optional<HeldFiles::Entry> page_;
};

}  // namespace brood
