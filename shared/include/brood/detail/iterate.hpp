#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <brood/abi.hpp>
#include <brood/detail/attempt.hpp>
#include <brood/detail/iterable_job.hpp>
#include <brood/detail/job_class.hpp>
#include <brood/detail/read_arguments.hpp>
#include <brood/detail/write_arguments.hpp>
#include <brood/error.hpp>
#include <brood/iteration.hpp>

#pragma GCC visibility push(hidden)
namespace brood::detail {

// One run of an iterable job.
template <typename Job>
class IterableRun {
  using Cursor = typename ItemsOf<Job>::Cursor;
  using Seconds = std::chrono::duration<double>;
  using Clock = std::chrono::steady_clock;

 public:
  IterableRun(Job& job, const abi::Call& call) : job_(job), call_(call), worker_(call.iterations), iteration_(call) {}

  // Returns when the job is done.  Throws Interrupted, and the job's exceptions.
  void run() {
    if (worker_ == nullptr)
      throw JobFailure("LibraryError", "this worker keeps no cursors: " + std::string(wire_name<Job>()) +
                                           ", which iterates, needs them");
    load();
    bool done = false;
    try {
      done = perform();
    } catch (...) {
      save_after_failure();
      throw;
    }
    if (done) {
      worker_->end(call_.host);
      return;
    }
    save();
    throw Interrupted{.in = rest_};
  }

 private:
  // Returns false if it was interrupted.
  bool perform() {
    const bool cancelled = iteration_.cancelled_;
    ItemsOf<Job> items = job_.items(cursor_);
    if (iteration_.executions_ == 1) {
      call_on_start(job_, iteration_);
    } else {
      call_on_resume(job_, iteration_);
    }
    const bool done = cancelled ? end_cancelled() : go_through(items);
    call_on_stop(job_, iteration_);
    if (done) call_on_complete(job_, iteration_);
    return done;
  }

  bool go_through(ItemsOf<Job>& items) {
    Clock::time_point saved = iteration_.began_, counted{};
    const std::optional<std::int64_t> total = items.total();
    while (auto step = items()) {
      cursor_ = step->cursor;
      if (total) count_item(*total, counted);
      if (iteration_.items_done_ == 0) json_of_cursor();  // throws for an invalid cursor before the first item runs
      const bool leaves = worker_->interrupt(call_.host) != 0 || ran_long_enough();
      if (leaves || Clock::now() - saved >= flush_interval()) {
        save();
        if (iteration_.cancelled_) return end_cancelled();
        if (leaves) return false;
        saved = Clock::now();
      }
      try {
        work_on(static_cast<typename ItemsOf<Job>::Item&&>(step->item));
      } catch (const Interrupted& interrupted) {
        rest_ = interrupted.in;
        save();
        return iteration_.cancelled_ ? end_cancelled() : false;
      }
      ++iteration_.items_done_;
      if (iteration_.finished_) break;
    }
    return true;
  }

  // Reports the progress, at most ten times a second.
  void count_item(std::int64_t total, Clock::time_point& counted) {
    if constexpr (std::is_integral_v<Cursor>) {
      const Clock::time_point now = Clock::now();
      if (iteration_.says_how_far_ || now - counted < std::chrono::milliseconds(100)) return;
      counted = now;
      static_cast<const Context&>(iteration_).progress(static_cast<std::int64_t>(*cursor_), total);
    }
  }

  void work_on(typename ItemsOf<Job>::Item&& item) {
    using Item = typename ItemsOf<Job>::Item;
    if constexpr (requires { job_.each(static_cast<Item&&>(item), iteration_); }) {
      job_.each(static_cast<Item&&>(item), iteration_);
    } else {
      job_.each(static_cast<Item&&>(item));
    }
  }

  bool end_cancelled() {
    iteration_.log("cancelled");
    call_on_cancel(job_, iteration_);
    return true;
  }

  // Whether the run must end.  A run does at least one item, or the job would never end.
  bool ran_long_enough() const {
    const Seconds longest = max_runtime();
    return longest.count() > 0 && iteration_.items_done_ > 0 && iteration_.run_time() > longest;
  }
  Seconds max_runtime() const {
    if constexpr (requires { Job::max_iteration_runtime; }) return Job::max_iteration_runtime;
    return std::chrono::milliseconds(worker_->max_runtime_ms);
  }
  static constexpr Seconds flush_interval() {
    if constexpr (requires { Job::flush_interval; }) return Job::flush_interval;
    return std::chrono::seconds(5);  // the interval of Sidekiq
  }

  void load() {
    abi::IterationState state{};
    state.size = sizeof state;
    switch (worker_->load(call_.host, &state)) {
      case abi::iteration_loaded:
        break;
      case abi::iteration_away:
        throw Interrupted{};
      default:
        throw JobFailure("LibraryError",
                         "the state of this iterable job cannot be read: " + std::string(view_of(state.cursor)));
    }
    iteration_.executions_ = state.executions + 1;
    iteration_.earlier_runs_ = Seconds(state.run_seconds);
    iteration_.cancelled_ = state.cancelled != 0;
    cursor_ = read_cursor(view_of(state.cursor));
  }

  // Saves the cursor.  An exception because of an invalid cursor is ignored: the job's own exception is the failure.
  void save_after_failure() {
    try {
      if (cursor_) save();
    } catch (const JobFailure&) {
    }
  }

  static std::optional<Cursor> read_cursor(std::string_view json) {
    if (json.empty() || json == "null") return std::nullopt;
    const auto refuse = [&](const std::string& why) {
      return ArgumentError(std::string(wire_name<Job>()) + ": the cursor of its last run: " + why);
    };
    try {
      Cursor cursor{};
      JsonReader reader(json);
      read_value(reader, cursor);
      reader.expect_end();
      return cursor;
    } catch (const Misfit& misfit) {
      throw refuse(misfit.path.empty() ? misfit.problem : "cursor" + misfit.path + ": " + misfit.problem);
    } catch (const BadJson& bad) {
      throw refuse(bad.what());
    }
  }

  std::string json_of_cursor() const {
    std::string json;
    if (cursor_) write_value(json, *cursor_);
    if (json.size() > abi::longest_cursor)
      throw JobFailure("CursorTooLarge", "the cursor has " + std::to_string(json.size()) + " bytes, of at most " +
                                             std::to_string(abi::longest_cursor) +
                                             ": let it say where the next item is, not what was done");
    return json;
  }

  // The saved time includes the time of this run so far, so that a run that is killed counts until its last flush.
  void save() {
    const std::string json = json_of_cursor();
    abi::IterationState state{};
    state.size = sizeof state;
    state.executions = iteration_.executions_;
    state.run_seconds = iteration_.total_run_time().count();
    state.cursor = text_of(json);
    if (worker_->save(call_.host, &state) != 0) iteration_.cancelled_ = true;
  }

  Job& job_;
  const abi::Call& call_;
  const abi::Iterations* worker_;
  Iteration iteration_;
  std::optional<Cursor> cursor_ = {};  // of the present item
  std::chrono::milliseconds rest_{0};  // the delay of the next run
};

}  // namespace brood::detail
#pragma GCC visibility pop
