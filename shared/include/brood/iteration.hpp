#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <brood/context.hpp>
#include <brood/items.hpp>

// A job that goes through many items, and continues at the same item after a stop, a deploy, an error or a crash.
//
//   struct ImportRows {
//     std::string file;
//
//     // The items: all for a new job, else from the item of this cursor on; that one runs again.
//     brood::Items<std::string> items(std::optional<std::int64_t> cursor) const {
//       return brood::each_line(file, cursor);
//     }
//     // The work on one item.
//     void each(const std::string& line, brood::Iteration& job);  // or without the second parameter
//
//     // Optional hooks, with (brood::Iteration&) or without.
//     void on_start();     // the first run of the job begins
//     void on_resume();    // a later run begins
//     void on_stop();      // a run ends: interrupted, cancelled or done, but not by an error
//     void on_cancel();    // the job was cancelled; on_stop and on_complete follow
//     void on_complete();  // all items are done
//
//     // Optional, any duration.
//     static constexpr auto flush_interval = 5s;           // how often the cursor is saved; 0s: before each item
//     static constexpr auto max_iteration_runtime = 10min; // after it another run continues; 0s: no limit
//   };
//
//   BROOD_JOBS(ImportRows)
//
// A cursor identifies an item: an index, an id, an offset.  It may be of any type that a job's field may have.  brood
// saves it in Redis, in the hash `it-<jid>` that Sidekiq 7.3 and later use too, so either may finish a job that the
// other began.  The cursor is saved before its item runs: every `flush_interval`, when the run is interrupted, and when
// an item throws.  So an item that threw runs again.  If a run was cut off (by a crash, or by the kill at the end of a
// stop), the items since the last flush run again.  Work that must not happen twice has to check whether it is done.
//
// A run is interrupted between two items when its worker quiets or stops, after max_iteration_runtime, and by an item
// that throws brood::Interrupted.  The job then goes to the back of its queue, and no attempt is charged.  If an item
// throws another exception, the job has failed: its retry begins with this item.  Changes of a run to the job's fields
// are not saved.
//
// The job's timeout counts from the end of the last item, so each item has the whole timeout.  If an item takes longer,
// it is the last of its run, which has failed (JobTimeout).  If it takes timeout_grace more, it is aborted.
//
// brood::Client::cancel_iteration(jid) ends a job for good.  It takes effect at the next flush or start.
//
// While Redis is away the run continues without saving.  It waits for Redis only at its beginning and at its end.
namespace brood {

#pragma GCC visibility push(hidden)
namespace detail {
template <typename Job>
class IterableRun;
}
#pragma GCC visibility pop

// The present run of an iterable job.
class Iteration : public Context {
 public:
  // The library's code makes one for each run.
  explicit Iteration(const abi::Call& call) : Context(call), began_(std::chrono::steady_clock::now()) {}

  std::int64_t executions() const { return executions_; }  // number of runs that have begun; 1: this is the first
  std::int64_t items_done() const { return items_done_; }  // in this run
  bool cancelled() const { return cancelled_; }            // whether the job was cancelled, as of its last flush

  // The time of this run so far, in seconds.
  std::chrono::duration<double> run_time() const { return std::chrono::steady_clock::now() - began_; }
  // The time of this run and of the runs before, in seconds.  A run that was cut off counts until its last flush.
  std::chrono::duration<double> total_run_time() const { return earlier_runs_ + run_time(); }

  // Ends the job after this item.  The job has then succeeded.
  void finish() { finished_ = true; }

  // Reports progress, as Context::progress() does.  If the job never calls it, brood counts the items, if they come
  // from each_of() a range with a size.
  void progress(std::int64_t done, std::int64_t total, std::string_view note = {}) {
    says_how_far_ = true;
    Context::progress(done, total, note);
  }

 private:
  template <typename Job>
  friend class detail::IterableRun;
  std::chrono::steady_clock::time_point began_;
  std::chrono::duration<double> earlier_runs_{};
  std::int64_t executions_ = 1, items_done_ = 0;
  bool cancelled_ = false, finished_ = false;
  bool says_how_far_ = false;  // the job reports its progress by itself
};

}  // namespace brood
