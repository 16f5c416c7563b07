#pragma once

#include <sys/types.h>

#include <ios>
#include <streambuf>
#include <string>

#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/output_reads.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// Descriptors 1 and 2 of a worker.  Both are the pipe that its supervisor reads and logs line by line.  std::cout and
// stdout are flushed after each line, so that a crash loses no line.
class StandardOutput {
 public:
  // Replaces descriptors 1 and 2 by `pipe`, and owns it.  With -1 the two stay as they are.
  StandardOutput(int pipe, std::string token);

  // Writes the output that a job left in buffers.  Makes no system call if the buffers are empty.
  void flush();

  // Restores the descriptors that the last job in the record closed or replaced, and writes a mark after its output, if
  // it printed anything.  Call it after flush().
  void end_job(SlotRecord& record);

 private:
  bool is_empty() const;
  bool is_the_pipe(int fd) const;
  void mend();

  UniqueFd pipe_;
  std::string token_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  OutputSeen seen_;
  std::streambuf *cout_ = nullptr, *clog_ = nullptr;
  bool keep_nothing_ = false;  // cout and clog have no buffers: they write to stdio at once
};

}  // namespace brood
