#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace brood {

// One run of a worker's batch: a word in its record, until the worker adds all of the batch to what the classes have
// used.  If the worker does not live to do so, the supervisor adds it.
struct RunNote {
  enum class State : std::uint8_t {
    none,        // nothing to add
    begun,       // whether it has ended, the state of the entry says
    ended_well,  // or interrupted itself
    failed,
  };

  State state = State::none;
  int class_index = 0;   // of the table of usage
  std::uint64_t ms = 0;  // how long it took, when it has ended

  std::uint64_t word() const;
  // Anything may have been scribbled there: `class_index` is one of the table's, `ms` no longer than a job can run.
  static RunNote read(std::uint64_t word);
};

// What is known of it when it begins, in a word beside that one.
struct RunStart {
  int queue_index = 0;                     // of the table of queues
  std::optional<std::uint64_t> waited_ms;  // since it was enqueued last; nullopt: its payload does not say when

  std::uint64_t word() const;
  static RunStart read(std::uint64_t word);  // as above
};

struct NotedRun {
  std::atomic<std::uint64_t> run;    // RunNote::word(); 0: nothing to add
  std::atomic<std::uint64_t> start;  // RunStart::word(), written before that
};

inline constexpr int max_run_notes = 32;
using RunNotes = std::array<NotedRun, max_run_notes>;

}  // namespace brood
