#pragma once

#include <atomic>
#include <cstdint>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {

// Shows whether a job has printed.  The worker asks for that at the job's end.  The output is either still in the pipe,
// or the supervisor has read it.  SlotRecord::output_reads counts the reads that brought output of a job whose end was
// not marked yet.  Its highest bit is set during a read, when the output is in neither place.  Only the supervisor
// writes the count.
class OutputReads {
 public:
  static constexpr std::uint32_t going_on = 1U << 31;

  explicit OutputReads(SlotRecord& record) : word_(record.output_reads), count_(word_.load() & ~going_on) {}

  // The supervisor calls these around each read.
  void begin() { word_.store(count_ | going_on); }
  void end(bool brought_output) {
    if (brought_output) count_ = (count_ + 1) & ~going_on;
    word_.store(count_);
  }

 private:
  std::atomic<std::uint32_t>& word_;
  std::uint32_t count_;  // not read back: a job may have written over it
};

// For the worker, after it has looked into the pipe.  Waits for a read to end, which takes microseconds.  If it takes
// longer, because the supervisor is held up, the answer is true: one mark too many is better than one too few.
class OutputSeen {
 public:
  bool was_read(const SlotRecord& record) {
    for (int looks = 0; looks < most_looks; ++looks) {
      const std::uint32_t reads = record.output_reads.load();
      if ((reads & OutputReads::going_on) != 0) continue;
      const bool more = reads != seen_;
      seen_ = reads;
      return more;
    }
    return true;
  }

 private:
  static constexpr int most_looks = 10'000;
  std::uint32_t seen_ = 0;
};

}  // namespace brood
