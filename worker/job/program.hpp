#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/unique_fd.hpp"

namespace brood {

// The program to execute.
struct ProgramStart {
  std::string path;                                // as messages name it
  std::string file = {};                           // the path by which it is executed; empty: `path`
  std::vector<std::string> words;                  // of its command line, its own name first
  std::map<std::string, std::string> environment;  // added to ours
  std::string directory;                           // empty: ours
  std::string_view input;                          // its standard input
};

// How a program ended.
struct ProgramEnd {
  bool exited = false;  // false: a signal ended it
  int value = 0;        // exit status, or the signal's number
  std::uint64_t peak_kb = 0;
};

// A program that runs as our child, in a process group of its own, with default signal dispositions.  It has no
// descriptors but 0, 1 (ours) and 2 (a pipe to us).  When we end, it is killed.
class Program {
 public:
  // Returns once the program is executed.  Throws std::system_error that names the step that failed.
  explicit Program(const ProgramStart& start);
  ~Program();  // kills it and its group, and waits, unless it has ended
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int process() const { return process_.get(); }  // a pidfd, readable once it has ended; -1: the kernel has none
  int errors() const { return errors_.get(); }    // what it prints on its standard error; does not block

  void signal(int number) const;  // to its whole group

  // Returns nullopt while it runs.  Once it has ended, kills the rest of its group; do not call it again after that.
  std::optional<ProgramEnd> end();

 private:
  pid_t pid_ = 0;  // 0: it has ended
  UniqueFd process_, errors_;
};

}  // namespace brood
