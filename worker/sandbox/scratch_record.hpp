#pragma once

#include <cstddef>

#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// What a job in a sandbox has of the scoreboard: it may read it, and what is written to the own record goes to this
// copy instead, of which its worker takes the crash's stack alone.
class ScratchRecord {
 public:
  // In the worker, before it forks.  Throws std::system_error.
  explicit ScratchRecord(SlotRecord& record);
  ~ScratchRecord();
  ScratchRecord(const ScratchRecord&) = delete;
  ScratchRecord& operator=(const ScratchRecord&) = delete;

  // In the job's process, for good: no mapping of a scoreboard can be written any more.  Returns where the record
  // itself is still read, with the supervisor's orders; nullptr where its file is gone.  Throws std::system_error.
  const SlotRecord* replace_scoreboard();

  // In the worker, once the process has ended: its last words.
  void take_crash() const;

 private:
  SlotRecord& record_;
  char* begin_ = nullptr;  // the pages that hold the record
  std::size_t size_ = 0;
  UniqueFd file_;
  char* copy_ = nullptr;
};

}  // namespace brood
