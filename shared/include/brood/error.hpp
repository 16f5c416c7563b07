#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace brood {

// A job throws it to end early: when it was asked to stop, or when it postpones itself.  The job runs again and no
// attempt is charged, whatever its `retry` option is.  It is not a std::exception, so a job's own
// `catch (const std::exception&)` does not catch it.
//
//   throw brood::Interrupted{};              // to the back of its queue
//   throw brood::Interrupted{.in = 10min};   // into the schedule, for then
struct Interrupted {
  std::chrono::milliseconds in{0};  // less than 1,000,000,000 s; not positive: no delay
};

// A limit is reached, so the job cannot go on.  <brood/limiter.hpp> throws it; a job may throw it too.  The job is
// rescheduled uncharged, whatever its `retry` option is.  The delay is `in`, else 5 to 10 minutes the first time and 5
// minutes more each further time.  The payload's member `overrated` counts the reschedules.  After `reschedules` of
// them the job has failed, as by any other exception.
class OverLimit : public std::runtime_error {
 public:
  static constexpr int usual_reschedules = 20;  // the default of `reschedules`

  // `limiter` is the limit's name.  `in`: the delay; nullopt: the usual one.  `reschedules` 0: the job fails at once.
  explicit OverLimit(std::string limiter, std::optional<std::chrono::milliseconds> in = std::nullopt,
                     int reschedules = usual_reschedules)
      : std::runtime_error("over the limit of " + limiter),
        limiter_(std::move(limiter)),
        in_(in),
        reschedules_(reschedules) {}

  const std::string& limiter() const noexcept { return limiter_; }              // its name
  std::optional<std::chrono::milliseconds> in() const noexcept { return in_; }  // the delay; nullopt: the usual one
  int reschedules() const noexcept { return reschedules_; }  // number of reschedules before the job fails

 private:
  std::string limiter_;
  std::optional<std::chrono::milliseconds> in_;
  int reschedules_;
};

// A job's arguments do not fit its fields; what() names the argument.  A job may throw it too.  Its error class is
// "ArgumentError", as in Ruby.
class ArgumentError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A failure that is not a std::exception, as hooks get it.  A job may throw it to choose the error class in its retry
// record.
class JobFailure : public std::runtime_error {
 public:
  // If `error_class` is empty, the record shows the exception's type.
  JobFailure(std::string error_class, const std::string& message)
      : std::runtime_error(message), error_class_(std::move(error_class)) {}
  // Returns "SIGSEGV", "JobTimeout", "OutOfMemory", or the name of the thrown type.
  const std::string& error_class() const noexcept { return error_class_; }

 private:
  std::string error_class_;
};

// The attempt ended its worker; what() describes how.
class JobCrashed : public JobFailure {
 public:
  using JobFailure::JobFailure;
};

}  // namespace brood
