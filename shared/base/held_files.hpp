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

// The files that a configuration names, held open since it was read.  A deploy that replaces files by rename removes
// only their names: a child that keeps descriptors() open can use the files themselves until it ends.
class HeldFiles {
 public:
  // A file that cannot be opened is no error here: the child that needs it reports it.
  void hold(const std::string& path);  // a program, a key, a directory
  void hold_library(const std::string& path);
  // Call it for each needed object after those that the object itself needs.
  void hold_needed(NeededObject object);

  // The path by which the file is found now: `path` if it still leads there, else the file's path without links, else
  // one below /proc/self/fd.  Returns a path that is not held unchanged.
  std::string path_of(const std::string& path) const;
  // The same for a library, which is loaded by its path without links if that still leads to it: $ORIGIN is relative to
  // that path.
  std::string path_of_library(const std::string& path) const;
  // The name of a library in messages: its path without links.
  std::string name_of_library(const std::string& path) const;

  // One held file, as this program hands it to the next one in this process (exec).
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
  // Why a held file cannot be relied on, as a sentence: it was written over, or could not be opened; empty: all can.
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

// The descriptor in a path below /proc/self/fd that path_of() has returned; -1: `path` is no such path.
int descriptor_in(const std::string& path);

}  // namespace brood
