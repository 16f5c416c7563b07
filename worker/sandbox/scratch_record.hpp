#pragma once

#include <cstddef>

#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// The scoreboard as a job in a sandbox sees it.  The job may read it.  Writes of its process to its own record go to a
// copy, from which the worker takes only the stack of a crash.
class ScratchRecord {
 public:
  // Call it in the worker, before it forks.  Throws std::system_error.
  explicit ScratchRecord(SlotRecord& record);
  ~ScratchRecord();
  ScratchRecord(const ScratchRecord&) = delete;
  ScratchRecord& operator=(const ScratchRecord&) = delete;

  // Call it in the job's process; it cannot be undone.  After it no mapping of a scoreboard can be written.  Returns
  // where the record itself, with the supervisor's orders, can still be read; nullptr if its file is gone.  Throws
  // std::system_error.
  const SlotRecord* replace_scoreboard();

  // Call it in the worker, once the job's process has ended: takes over the stack of its crash.
  void take_crash() const;

 private:
  SlotRecord& record_;
  char* begin_ = nullptr;  // the pages that hold the record
  std::size_t size_ = 0;
  UniqueFd file_;
  char* copy_ = nullptr;
};

}  // namespace brood
