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

// The type of Sidekiq's options `retry` and `backtrace`: yes, no, or a count.
class YesNoOrCount {
 public:
  // The kinds of value.
  enum class Kind { yes, no, count };

  // Yes or no.
  constexpr YesNoOrCount(bool yes) : kind_(yes ? Kind::yes : Kind::no) {}
  // A count, 0 to 1,000,000.  Throws std::invalid_argument for any other number; a constant with one does not compile.
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) constexpr YesNoOrCount(Integer n)
      : kind_(Kind::count),
        count_(n >= 0 && static_cast<std::uint64_t>(n) <= 1'000'000
                   ? static_cast<std::uint32_t>(n)
                   : throw std::invalid_argument("a count is 0 to 1,000,000")) {}

  constexpr Kind kind() const { return kind_; }             // the kind of value
  constexpr std::uint32_t count() const { return count_; }  // 0 unless it is a count
  // Compares kind and count; `true` is not the count 1.
  friend constexpr bool operator==(const YesNoOrCount&, const YesNoOrCount&) = default;

 private:
  Kind kind_;
  std::uint32_t count_ = 0;
};

// Up to 16 labels: `.tags = {"slow", "images"}`.
class Tags {
 public:
  constexpr Tags() = default;  // no labels
  // The texts must outlive this object, as literals do.  Throws std::invalid_argument for more than 16 texts.
  constexpr Tags(std::initializer_list<std::string_view> tags) {
    for (const std::string_view tag : tags) {
      if (size_ == tags_.size()) throw std::invalid_argument("at most 16 tags");
      tags_[size_++] = tag;
    }
  }
  constexpr const std::string_view* begin() const { return tags_.data(); }        // the first label
  constexpr const std::string_view* end() const { return tags_.data() + size_; }  // the position after the last label
  constexpr bool empty() const { return size_ == 0; }                             // whether there are no labels

 private:
  std::array<std::string_view, 16> tags_{};
  std::size_t size_ = 0;
};

// The process in which the jobs of a class run.  The configuration may override it: [classes.NAME] isolation.
enum class Isolation {
  worker,   // the worker's process, one job after the other
  process,  // a new fork for each job, of the worker as it was before its first job; the fork ends with the job
};

// The fate of a worker whose job has left threads running.  The configuration may override it: [classes.NAME] threads.
enum class LeftThreads {
  replace,  // a new worker replaces it: the threads would run, and might crash, beside another job
  allow,    // the worker continues
};

// The time for which a unique job holds its lock, which prevents the push of jobs like it.
enum class UniqueUntil {
  start,    // until its first attempt begins
  done,     // until it has succeeded, died, or been deleted.  A failure that is retried keeps the lock
  running,  // while it runs: others may be pushed and wait, so one job runs at a time
};

// The fate of a job while another job like it holds the lock.  With UniqueUntil::running it is decided when the job is
// to begin, so only drop and after are possible, and after is the default.  Otherwise the default is drop.
enum class OnConflict {
  drop,     // the job is dropped: a push returns an empty jid; a job that is to begin ends without a run
  after,    // the job is pushed, and begins once it has the lock
  replace,  // if the other job still waits, this job replaces it and takes its lock; else as drop
  extend,   // as drop, and the lock then lives for at least `unique_for` from now; requires unique_for
};

// The options of a job class, a member of its struct.  C++ requires designated members in the order of this list.
//
//   static constexpr brood::JobOptions options{.queue = "images", .retry = 5, .timeout = 30s};
//
// brood::Client writes them into the payload of each push, as Sidekiq's client does.  The worker itself reads four of
// them: `timeout` and `retry`, if the payload has none, and `isolation` and `threads`, which no payload has.
struct JobOptions {
  std::string_view queue = "default";  // characters A-Z a-z 0-9 _ . : @ / ~ -, at most 255
  YesNoOrCount retry = true;           // true: max_retries of the configuration; false: a failed job is not stored
  std::chrono::milliseconds timeout{
      0};                          // for one attempt, or for one item of an iterable job; 0: the worker's job_timeout
  YesNoOrCount backtrace = false;  // lines of backtrace stored with a failure; those of a crash are always stored
  bool dead = true;                // false: an exhausted job is dropped
  Tags tags = {};                  // shown by Sidekiq's Web UI; filters can use them
  std::chrono::seconds retry_for{0};  // how long a failed job is retried, instead of a number of retries; 0: not used
  std::string_view retry_queue = {};  // the queue of retries; empty: the queue it failed in
  // The number of fields that must be given: of the job, or, in the `options` of a nested struct, of that struct.  -1:
  // all but trailing std::optional fields; none for a struct that is given as an object.
  int required = -1;
  Isolation isolation = Isolation::worker;  // process: damage to a job's memory ends with it; each job costs a fork
  std::optional<LeftThreads> threads = {};  // nullopt: as [worker] threads
  // Allows one job at a time of the same class, queue and arguments.  The push takes the lock in the same step, and
  // the step that ends the job releases it.  So a crash leaves neither a lock without a job nor a job without its
  // lock.  If the struct has a member
  //   static constexpr auto unique_by = std::tuple{&Report::customer, &Report::day};
  // only these fields are compared.
  bool unique = false;
  std::chrono::seconds unique_for{
      0};  // makes the job unique too; the lock lives at most this long, counted from the time when the job is due
  UniqueUntil unique_until = UniqueUntil::done;
  std::optional<OnConflict> on_conflict = {};  // nullopt: after with UniqueUntil::running, else drop
  // If the job has not begun this long after it was enqueued or due, it does not run: it is dropped, and its on_expired
  // hook runs.  Retries have the same deadline.  A running job is not cut off.  0: not used.
  std::chrono::milliseconds expires_in{0};
  // Encrypts the last argument from the push until a worker performs the job, by the keys of [encryption.keys].  So it
  // cannot be read in Redis, on pages and in files.  Hooks and handlers get the payload as Redis has it.  Other clients
  // push such a job in clear unless they set `encrypt`; then workers refuse it, unless [encryption] require is false.
  bool encrypt = false;
  // Keeps the job's report, which has its result or its error, this long after its end.  See brood::Client::wait().  0:
  // no report is kept.
  std::chrono::seconds keep_result{0};
};

}  // namespace brood
