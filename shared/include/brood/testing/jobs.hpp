#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <brood/detail/compiled_in.hpp>
#include <brood/job.hpp>
#include <brood/push.hpp>

namespace brood::testing {

// A job of a library failed.  Its exception stays in the library.  what() has its class and message: "Io::Error: no
// such picture".
class BROOD_API JobFailed : public std::runtime_error {
 public:
  // Made of an exception's type and its message.
  JobFailed(std::string error_class, std::string message)
      : std::runtime_error(error_class + ": " + message),
        error_class_(std::move(error_class)),
        message_(std::move(message)) {}

  // Error class and message, as in a retry record: "Io::Error" and "no such picture".
  const std::string& error_class() const noexcept { return error_class_; }
  const std::string& message() const noexcept { return message_; }

 private:
  std::string error_class_, message_;
};

// The job classes that a Fake or an Inline performs, and the middleware around them.  A copy refers to the same Jobs.
//
//   Jobs::of<ResizeImage, SendWelcome>()      compiled into the test; no BROOD_JOBS is needed
//   Jobs::of_library("build/libjobs.so")      as `brood run -r` loads it
//   Jobs::of<ResizeImage>().add_library("build/libtracing.so")
//
// The `brood_setup` of each library, and that of the test itself, runs again for each Jobs that is made, and replaces
// its earlier registrations.  Server middleware runs around the jobs as in a worker.  Lifecycle events, error and
// death handlers, and the hooks retry_in and exhausted are not called: see Supervised for these.
//
// A library that cannot be loaded, or a class that exists twice, throws std::runtime_error; its message is a sentence.
class BROOD_API Jobs {
 public:
  Jobs();  // no classes: pushed jobs can be inspected, but not performed

  // Returns the classes, which are compiled into the test.
  template <typename... Job>
  __attribute__((visibility("hidden"))) static Jobs of() {
    Jobs jobs;
    jobs.add({&brood::detail::library_of_jobs<Job...>, &brood::detail::take_thrown});
    return jobs;
  }
  // Returns the classes of the library at `path`, relative to the working directory.
  static Jobs of_library(const std::string& path) { return Jobs().add_library(path); }
  // Adds the classes of another library.  Returns this object.
  Jobs& add_library(const std::string& path);

  std::vector<std::string> class_names() const;  // sorted

 private:
  friend class JobRunner;
  struct __attribute__((visibility("hidden"))) Known;
  void add(const brood::detail::CompiledIn& compiled_in);
  std::shared_ptr<Known> known_;
};

}  // namespace brood::testing
