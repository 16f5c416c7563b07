#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"

namespace brood {

// The files of a generation's job libraries, held open.  A deploy that replaces them by rename takes only their names
// away, so a rolling restart that is taken back can load the old ones from here.
class KeptLibraries {
 public:
  // A file that cannot be opened is no error here: the child that loads it reports it.
  explicit KeptLibraries(const std::vector<std::string>& paths);

  // The paths by which a child that keeps descriptors() finds the files now: their own, or below /proc/self/fd.
  std::vector<std::string> paths() const;
  // Why the files are not what they were; empty: they are.
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
