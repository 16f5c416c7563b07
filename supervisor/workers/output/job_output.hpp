#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/output_reads.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/workers/output/output_lines.hpp"
#include "supervisor/workers/output/token_bucket.hpp"

namespace brood {

// Carries the standard output and error of a worker, and of everything its jobs start, to the supervisor.
struct OutputPipe {
  UniqueFd supervisor_end;  // non-blocking
  UniqueFd worker_end;
  std::string token;  // in the marks at the ends of its jobs
};
OutputPipe make_output_pipe();

// The job that printed something.
struct PrintingJob {
  std::string jid, job_class;
  bool operator==(const PrintingJob&) const = default;
};

// The supervisor's end of one worker's output: logs each line as event=job_output with the job that printed it.
//
// It never holds up the loop.  A turn reads at most 64 KB and logs at most 64 lines; a job that prints faster waits at
// its full pipe.  While the log itself is behind, output waits up to a second for it.  After that, and beyond what
// TokenBucket admits, lines are dropped, counted, and reported as event=job_output_dropped with the job that printed
// them.
class JobOutput {
 public:
  struct Source {
    int slot = 0;
    pid_t worker = 0;
    SlotRecord* record = nullptr;
  };

  // `pipe` is the supervisor's end.
  JobOutput(EventLoop& loop, UniqueFd pipe, std::string token, Source source);
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  // Call it at the worker's end, before its slot is vacated.  Logs at most the last 1,000 lines of the rest, and closes
  // the pipe: a descendant that prints later writes to a pipe without a reader.
  void drain_and_close();

  int descriptor() const { return pipe_.get(); }
  const std::string& token() const { return token_; }

 private:
  struct Line {
    std::string text;
    bool continued;  // the line continues in the next
    PrintingJob job;
  };
  struct LeftOut {
    PrintingJob job;
    std::size_t lines = 0, bytes = 0;
    std::size_t other_jobs = 0;  // number of other jobs with lines that are counted here too
  };

  void work();
  void read_in_turn(SteadyTime now);
  enum class Read { nothing, marks, output };  // output: text of a job whose end is not marked yet
  Read read_some(SteadyTime now);
  Read read_and_keep(SteadyTime now);
  void attribute(const PrintingJob& job);
  void keep(const OutputLines::Item& item, SteadyTime now);
  void keep_unfinished(SteadyTime now);
  void log_in_turn(SteadyTime now);
  void log_first();
  void leave_out_first();
  void count_left_out(const LeftOut& more);
  void forget_first();
  void report_left_out(SteadyTime now);
  void wait(SteadyTime now);

  EventLoop& loop_;
  UniqueFd pipe_;
  std::string token_;
  Source source_;
  OutputReads reads_;
  OutputLines lines_;
  TokenBucket allowance_;
  std::deque<Line> waiting_;       // to be logged
  std::size_t waiting_bytes_ = 0;  // the size of their text
  std::size_t attributed_ = 0;     // the number of them that are attributed to a job
  PrintingJob latest_;             // the job whose output was read last
  bool ended_ = false;             // the write end is closed
  bool at_the_end_ = false;        // the worker is dead: its last output is logged, however much came before
  bool flooded_ = false;           // the last read exceeded the allowance
  SteadyTime read_at_{};           // when the last bytes came
  std::optional<SteadyTime> log_behind_since_;
  LeftOut left_out_unattributed_;  // lines older than those waiting for attribution
  std::vector<LeftOut> left_out_;  // to be reported, in the order of the jobs
  SteadyTime reported_at_{};
  std::unique_ptr<FdWatch> watch_;  // null while lines wait: then the job waits too, at its full pipe
  Timer again_;
};

}  // namespace brood
