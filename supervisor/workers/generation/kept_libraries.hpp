#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"

namespace brood {

// The files of a generation's job libraries, held open: a deploy that replaces them by rename takes only their names
// away, and what a rolling restart takes back is loaded from here.
class KeptLibraries {
 public:
  // One that cannot be opened is left to those who load it.
  explicit KeptLibraries(const std::vector<std::string>& paths);

  // Where a child that keeps descriptors() finds them now: where they were, or below /proc/self/fd.
  std::vector<std::string> paths() const;
  // Why they are not what they were; empty: they are.
  std::string flaw() const;
  std::vector<int> descriptors() const;

 private:
  struct File {
    std::string path, whole_path;  // without links: "current" may lead to another release by now
    UniqueFd fd;
    struct stat status {};  // when it was opened
  };
  std::vector<File> files_;
};

}  // namespace brood
