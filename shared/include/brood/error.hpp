#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace brood {

// Thrown by a job that was asked to wind up, or that puts itself off: nothing is charged, whatever its `retry` says. No
// std::exception, so that a job's own `catch (const std::exception&)` does not swallow it.
//
//   throw brood::Interrupted{};              // to the back of its queue
//   throw brood::Interrupted{.in = 10min};   // into the schedule, for then
struct Interrupted {
  std::chrono::milliseconds in{0};  // less than 1,000,000,000 s; what is not positive is none
};

// A job may not go on since a limit is reached: see <brood/limiter.hpp>, which throws it, as a job may itself.  The job
// is put off, uncharged, whatever its `retry` says: 5 to 10 minutes the first time, 5 more each time, or as long as it
// says itself; the payload's `overrated` counts how often.  After so many times it has failed, as by any other
// exception.
class OverLimit : public std::runtime_error {
 public:
  static constexpr int usual_reschedules = 20;  // how often a job is put off if nothing else is said

  // `in`: nullopt is the usual delay.  `reschedules` 0: it has failed at once.
  explicit OverLimit(std::string limiter, std::optional<std::chrono::milliseconds> in = std::nullopt,
                     int reschedules = usual_reschedules)
      : std::runtime_error("over the limit of " + limiter),
        limiter_(std::move(limiter)),
        in_(in),
        reschedules_(reschedules) {}

  const std::string& limiter() const noexcept { return limiter_; }              // its name
  std::optional<std::chrono::milliseconds> in() const noexcept { return in_; }  // the delay; nullopt: the usual one
  int reschedules() const noexcept { return reschedules_; }                     // so often, before it has failed

 private:
  std::string limiter_;
  std::optional<std::chrono::milliseconds> in_;
  int reschedules_;
};

// A job's arguments do not fit its fields; what() names the argument.  A job may throw it as well: its error class is
// "ArgumentError", as Ruby calls it.
class ArgumentError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// What hooks get for a failure that is no std::exception they could catch.  A job may throw it to choose the error
// class that its retry record shows.
class JobFailure : public std::runtime_error {
 public:
  // An empty class is taken for none: the record then shows the exception's type.
  JobFailure(std::string error_class, const std::string& message)
      : std::runtime_error(message), error_class_(std::move(error_class)) {}
  // "SIGSEGV", "JobTimeout", "OutOfMemory", or the name of the thrown type.
  const std::string& error_class() const noexcept { return error_class_; }

 private:
  std::string error_class_;
};

// The attempt ended with its worker: what() says how.
class JobCrashed : public JobFailure {
 public:
  using JobFailure::JobFailure;
};

}  // namespace brood
