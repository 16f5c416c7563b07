#pragma once

#include <sys/types.h>

#include <ios>
#include <streambuf>
#include <string>

#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/output_reads.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// Descriptors 1 and 2 of a worker: the pipe that its supervisor reads and logs line by line.  std::cout and stdout are
// flushed with each line, so that a crash loses none.
class StandardOutput {
 public:
  // Puts `pipe`, which becomes ours, in place of 1 and 2; with -1 they stay as they are.
  StandardOutput(int pipe, std::string token);

  // Writes the output that a job left in buffers.  Makes no system call if the buffers are empty.
  void flush();

  // Call it after flush(), for the last job in the record: puts back what the job closed or replaced, and marks where
  // its output ends, if it printed anything.
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
  bool keep_nothing_ = false;  // of cout and clog, which write to stdio at once
};

}  // namespace brood
