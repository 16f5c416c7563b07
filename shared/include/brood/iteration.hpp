#pragma once

#include <chrono>
#include <cstdint>

#include <brood/context.hpp>
#include <brood/items.hpp>

// A job that goes through many items, and goes on where it was after a stop, a deploy, an error and a crash.
//
//   struct ImportRows {
//     std::string file;
//
//     // What there is to do: all for a new job, else from the item of this cursor on, which runs again.
//     brood::Items<std::string> items(std::optional<std::int64_t> cursor) const {
//       return brood::each_line(file, cursor);
//     }
//     // The work on one item.
//     void each(const std::string& line, brood::Iteration& job);  // or without the second parameter
//
//     // Optional hooks, with (brood::Iteration&) or without.
//     void on_start();     // the first run of the job begins
//     void on_resume();    // a later one
//     void on_stop();      // a run ends: interrupted, cancelled or done, but not by an error
//     void on_cancel();    // somebody has cancelled the job; on_stop and on_complete follow
//     void on_complete();  // nothing is left to do
//
//     // Optional, any duration.
//     static constexpr auto flush_interval = 5s;           // how often the cursor is saved; 0s: before each item
//     static constexpr auto max_iteration_runtime = 10min; // then another run goes on; 0s: as long as it takes
//   };
//
//   BROOD_JOBS(ImportRows)
//
// A cursor is what finds an item again: an index, an id, an offset.  It may be of any type that a job's field may have.
// brood saves it in Redis, in the hash `it-<jid>` that Sidekiq 7.3 and later use too: a job that one began the other
// may finish.  It is saved before its item runs: every `flush_interval`, when the run is interrupted, and when an item
// throws.  So an item runs again when it threw, and when its run was cut off (a crash, the kill at the end of a stop)
// those since the last flush do: work that must not happen twice has to see for itself that it is done.
//
// A run is interrupted, between two items, once its worker quiets or stops, and after max_iteration_runtime; also by an
// item that throws brood::Interrupted.  The job then goes to the back of its queue and is charged nothing.  An item
// that throws anything else fails the job: its retry begins with this item.  Fields of the job that a run changes are
// not saved.
//
// The job's timeout counts from its last progress: each item has all of it.  An item that takes longer is the last of
// its run, which has failed (JobTimeout), and is aborted when it takes longer by timeout_grace.
//
// brood::Client::cancel_iteration(jid) ends a job for good; it takes effect at the next flush or start.
//
// While Redis is away the run goes on, unsaved, and waits for it only at its beginning and at its end.
namespace brood {

#pragma GCC visibility push(hidden)
namespace detail {
template <typename Job>
class IterableRun;
}
#pragma GCC visibility pop

// The run that an iterable job is in.
class Iteration : public Context {
 public:
  // Made by the library, for each run.
  explicit Iteration(const abi::Call& call) : Context(call), began_(std::chrono::steady_clock::now()) {}

  std::int64_t executions() const { return executions_; }  // how many runs of this job have begun; 1: this is the first
  std::int64_t items_done() const { return items_done_; }  // in this run
  bool cancelled() const { return cancelled_; }            // somebody has cancelled the job, as its last flush said

  // How long this run has lasted, in seconds.
  std::chrono::duration<double> run_time() const { return std::chrono::steady_clock::now() - began_; }
  // This run and those before.  A run that was cut off counts until its last flush.
  std::chrono::duration<double> total_run_time() const { return earlier_runs_ + run_time(); }

  // No item after this one: the job is done.
  void finish() { finished_ = true; }

 private:
  template <typename Job>
  friend class detail::IterableRun;
  std::chrono::steady_clock::time_point began_;
  std::chrono::duration<double> earlier_runs_{};
  std::int64_t executions_ = 1, items_done_ = 0;
  bool cancelled_ = false, finished_ = false;
};

}  // namespace brood
