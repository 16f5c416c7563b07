#pragma once

#include <sys/stat.h>

#include <set>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"

namespace brood {

// A shared object that a library needs: the name by which it asks for it, and where the dynamic linker finds it.
struct NeededObject {
  std::string name, path;
};

// The files that a configuration names, held open from the moment when it was read.  A deploy that replaces them by
// rename takes only their names away: a child that keeps descriptors() finds the files themselves to its end.
class HeldFiles {
 public:
  // A file that cannot be opened is no error here: the child that needs it reports it.
  void hold(const std::string& path);  // a program, a key, a directory
  void hold_library(const std::string& path);
  // Each after those that it needs itself.
  void hold_needed(NeededObject object);

  // The path by which the file is found now: `path` if it still leads there, else the file's path without links, else
  // one below /proc/self/fd.  Returns a path that is not held unchanged.
  std::string path_of(const std::string& path) const;
  // The same for a library, which is loaded by its path without links if that still leads to it: from there $ORIGIN
  // counts.
  std::string path_of_library(const std::string& path) const;
  // Its name in messages: the path without links.
  std::string name_of_library(const std::string& path) const;

  // One of them, for the next program in this process, and from the program before.
  struct Entry {
    std::string path, whole_path;
    int descriptor = -1;
    bool is_library = false;
    std::string needed_as = {};  // the name of a needed object
  };
  std::vector<Entry> entries() const;
  void adopt(const Entry& entry, UniqueFd own);

  const std::vector<NeededObject>& needed() const { return needed_; }
  // The libraries, and the objects that they need, that the dynamic linker would not find at their paths now.
  std::set<std::string> moved() const;
  // Why the files are not what they were; empty: they are.
  std::string flaw() const;
  std::vector<int> descriptors() const;

 private:
  struct File {
    std::string path, whole_path;  // without links: "current" may lead to another release by now
    UniqueFd fd;
    struct stat status {};  // when it was opened
    bool is_library = false;
  };
  File& add(const std::string& path);
  const File* find(const std::string& path) const;

  std::vector<File> files_;
  std::vector<NeededObject> needed_;
};

// The descriptor in a path such as path_of() makes of one that leads elsewhere by now; -1: `path` is another.
int descriptor_in(const std::string& path);

}  // namespace brood
