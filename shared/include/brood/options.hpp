#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace brood {

// Sidekiq's `retry` and `backtrace`: yes, no, or how many.
class YesNoOrCount {
 public:
  // Which of the three it is.
  enum class Kind { yes, no, count };

  // Yes or no.
  constexpr YesNoOrCount(bool yes) : kind_(yes ? Kind::yes : Kind::no) {}
  // How many: 0 to 1,000,000, else std::invalid_argument; in a constant an error of the compiler.
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) constexpr YesNoOrCount(Integer n)
      : kind_(Kind::count),
        count_(n >= 0 && static_cast<std::uint64_t>(n) <= 1'000'000
                   ? static_cast<std::uint32_t>(n)
                   : throw std::invalid_argument("a count is 0 to 1,000,000")) {}

  constexpr Kind kind() const { return kind_; }             // which it is
  constexpr std::uint32_t count() const { return count_; }  // 0 unless it is a count
  // Whether both say the same; `true` is not the count 1.
  friend constexpr bool operator==(const YesNoOrCount&, const YesNoOrCount&) = default;

 private:
  Kind kind_;
  std::uint32_t count_ = 0;
};

// Up to 16 labels: `.tags = {"slow", "images"}`.
class Tags {
 public:
  constexpr Tags() = default;  // none
  // The texts must outlive it, as literals do.  Throws std::invalid_argument for more than 16.
  constexpr Tags(std::initializer_list<std::string_view> tags) {
    for (const std::string_view tag : tags) {
      if (size_ == tags_.size()) throw std::invalid_argument("at most 16 tags");
      tags_[size_++] = tag;
    }
  }
  constexpr const std::string_view* begin() const { return tags_.data(); }        // the first
  constexpr const std::string_view* end() const { return tags_.data() + size_; }  // behind the last
  constexpr bool empty() const { return size_ == 0; }                             // none

 private:
  std::array<std::string_view, 16> tags_{};
  std::size_t size_ = 0;
};

// Where the jobs of a class run.  The configuration may say otherwise: [classes.NAME] isolation.
enum class Isolation {
  worker,   // in the worker, one after the other
  process,  // each in a fresh fork of the worker as it was before its first job, which ends with the job
};

// What becomes of a worker whose job has left threads behind, which it started and which still run at its end.  The
// configuration may say otherwise: [classes.NAME] threads.
enum class LeftThreads {
  replace,  // a new one takes its place: the threads would go on, and crash, beside another job
  allow,    // it goes on
};

// Until when a unique job keeps others like it from being pushed.
enum class UniqueUntil {
  start,    // its first attempt begins
  done,     // it has ended: succeeded, died, or been deleted.  Failures that are retried keep its lock
  running,  // others may be pushed, and wait: one runs at a time
};

// What becomes of a job while another like it holds the lock that it wants.  With UniqueUntil::running that is known
// only when it would begin, so it is drop or after, and after where nothing else is said; else drop is.
enum class OnConflict {
  drop,     // it is dropped: a push returns no jid, and what would run beside the other ends without having run
  after,    // it is pushed, and waits for its turn: it begins once it has the lock
  replace,  // it takes the place and the lock of the other, which is dropped, if that still waits; else as drop
  extend,   // as drop, and the lock lives `unique_for` from now, if that is longer: only with that
};

// The options of a job class: a member of its struct.  C++ wants designated members in the order of this list.
//
//   static constexpr brood::JobOptions options{.queue = "images", .retry = 5, .timeout = 30s};
//
// brood::Client writes them into the payload of each push, as Sidekiq's client does.  Of these the worker itself asks
// four: `timeout`, which no payload carries unless its push says so, `retry` for a payload that has none, and
// `isolation` and `threads`, which no payload has.  What a payload says wins.
struct JobOptions {
  std::string_view queue = "default";    // characters A-Z a-z 0-9 _ . : @ / -, at most 255
  YesNoOrCount retry = true;             // true: the server's max_retries; false: a failure is stored nowhere
  std::chrono::milliseconds timeout{0};  // of one attempt, or of an iterable job's item; 0: the worker's job_timeout
  YesNoOrCount backtrace = false;        // how many lines say where a failure was thrown; a crash's always do
  bool dead = true;                      // false: an exhausted job is dropped
  Tags tags = {};                        // shown by Sidekiq's Web UI, and for filters
  std::chrono::seconds retry_for{0};     // retry for so long instead of so often; 0: not used
  std::string_view retry_queue = {};     // where retries go; empty: the queue it failed in
  // How many fields must be given, of the job or, in `options` of a struct within it, of that; -1: all but trailing
  // std::optional ones, and of an object none.
  int required = -1;
  Isolation isolation = Isolation::worker;  // process: what a job breaks in its memory ends with it; costs a fork
  std::optional<LeftThreads> threads = {};  // nullopt: what [worker] threads says
  // Of jobs with the same class, queue and arguments there is to be one.  Whoever pushes takes the lock in the same
  // step, and whatever ends the job lets go of it in the step that ends it, so that a crash leaves neither a lock
  // without a job nor a job without its lock.  A struct with
  //   static constexpr auto unique_by = std::tuple{&Report::customer, &Report::day};
  // counts these fields alone.
  bool unique = false;
  std::chrono::seconds unique_for{0};  // that too, and the lock lives no longer than this, counted from when it is due
  UniqueUntil unique_until = UniqueUntil::done;
  std::optional<OnConflict> on_conflict = {};  // nullopt: after with UniqueUntil::running, else drop
  // A job that has not begun so long after it was enqueued, or was due, does not run at all: it is dropped, and its
  // on_expired hook runs.  It holds for retries as well, whose clock goes on; what runs is never cut off.  0: not used.
  std::chrono::milliseconds expires_in{0};
  // The last argument is encrypted from the push until a worker performs the job, by the keys of [encryption.keys]: in
  // Redis, on pages and in files nobody reads it.  Hooks and handlers are given the payload as Redis holds it.  Other
  // clients push such a job in clear unless they are told; [encryption] require refuses it then.
  bool encrypt = false;
};

}  // namespace brood
