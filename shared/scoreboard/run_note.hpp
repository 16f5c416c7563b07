#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace brood {

// One run of a worker's batch, as a word in the worker's record.  The worker adds all runs of the batch to the usage of
// their classes.  If it dies before that, the supervisor adds them.
struct RunNote {
  enum class State : std::uint8_t {
    none,        // nothing to add
    begun,       // the state of the entry shows whether it has ended
    ended_well,  // or interrupted itself
    failed,
  };

  State state = State::none;
  int class_index = 0;   // of the table of usage
  std::uint64_t ms = 0;  // how long it took, when it has ended

  std::uint64_t word() const;
  // Reads any word, since a job may have scribbled over it.  `class_index` is always a valid index, and `ms` no longer
  // than a job can run.
  static RunNote read(std::uint64_t word);
};

// The facts that are known when a run begins, in a second word.
struct RunStart {
  int queue_index = 0;                     // of the table of queues
  std::optional<std::uint64_t> waited_ms;  // since it was enqueued last; nullopt: its payload has no time

  std::uint64_t word() const;
  static RunStart read(std::uint64_t word);  // any word, as RunNote::read()
};

struct NotedRun {
  std::atomic<std::uint64_t> run;    // RunNote::word(); 0: nothing to add
  std::atomic<std::uint64_t> start;  // RunStart::word(), written before that
};

inline constexpr int max_run_notes = 32;
using RunNotes = std::array<NotedRun, max_run_notes>;

inline constexpr std::size_t recent_classes_kept = 8;

// The job classes that ran last in a worker's own process, since a job may crash from damage that an earlier one did to
// the memory.  It is in shared memory, and the worker writes it as each job begins.
struct RecentClasses {
  // The class' index in the table of usage, and above its 16 bits the run's number plus one; 0: none.
  std::array<std::atomic<std::uint64_t>, recent_classes_kept> runs;
  std::atomic<std::uint32_t> newest;  // where in `runs` the last run is

  // `run` grows by one with each job.  Several runs of one class in a row are one entry.
  void note(int index, std::uint64_t run);
  void clear();
};

// A class that ran before the job of number `run`.
struct PrecedingRun {
  int index = 0;
  std::uint64_t ago = 0;  // how many runs; 1: the one just before
};

// The last run of each other class, the newest first.  Whatever a job wrote there, these are at most
// recent_classes_kept, with valid indices of the table.
std::vector<PrecedingRun> preceding_runs(const RecentClasses& recent, std::uint64_t run);

// The run that began last, and the oldest one that is still known.
struct LastRun {
  int index = 0;
  std::uint64_t run = 0, oldest = 0;
};
// nullopt if none has begun.
std::optional<LastRun> last_run(const RecentClasses& recent);

}  // namespace brood
