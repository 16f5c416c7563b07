#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <brood/context.hpp>
#include <brood/detail/one_setup.hpp>
#include <brood/detail/thunks.hpp>
#include <brood/error.hpp>
#include <brood/iteration.hpp>
#include <brood/json.hpp>
#include <brood/limiter.hpp>
#include <brood/options.hpp>
#include <brood/retry.hpp>
#include <brood/setup.hpp>

// A job is a plain struct.  Its fields, in order, are the arguments; perform() is the work.  A field that is itself a
// struct takes an array of its fields, or an object by their names: see brood/options.hpp, `required`.
//
//   struct ResizeImage {
//     std::string path;
//     int width = 0;
//     std::optional<int> quality = {};  // trailing optional fields may be missing
//
//     static constexpr brood::JobOptions options{.queue = "images", .retry = 5, .timeout = 30s};  // optional
//     static constexpr std::string_view job_class = "Images::Resize";  // optional: else the type's own name
//
//     void perform(brood::Context& job);  // or void perform();
//
//     // Optional hooks, static or not.  Count is 0 at the first failure; after a crash the error is a JobCrashed.  The
//     // first may take the job as well: retry_in(int, const std::exception&, const brood::JobInfo& job).
//     static brood::RetryDecision retry_in(int count, const std::exception& error);
//     static void exhausted(const brood::JobInfo& job, const std::exception& error);  // or returns brood::discard
//     // Called instead of perform(), once, if the job has expired: see JobOptions::expires_in.
//     static void on_expired(const brood::JobInfo& job);
//   };
//
//   BROOD_JOBS(ResizeImage)
//
// A job of many items has items() and each() instead of perform(): see <brood/iteration.hpp>.
//
// A job has failed if perform() throws.  The exception's type is the error class, and its what() is the message.
//
// The output of a job is logged line by line, with its jid and class.  Processes that it leaves running live as long
// as its worker.  When perform() returns, brood reaps children that have ended, so a job must wait for its own children
// before it returns.

// Lists the job classes of a library.  Use it once in a library, outside of any namespace.
#define BROOD_JOBS(...)                                                                                \
  BROOD_ONE_SETUP                                                                                      \
  extern "C" __attribute__((visibility("default"))) const ::brood::abi::Library* brood_job_library() { \
    return ::brood::detail::library_of_jobs<__VA_ARGS__>();                                            \
  }

// Makes a library without jobs; use it instead of BROOD_JOBS.  Its brood_setup registers code that serves the jobs of
// all libraries of a worker, such as measuring or tracing.  See <brood/setup.hpp>.
#define BROOD_MIDDLEWARE()                                                                             \
  BROOD_ONE_SETUP                                                                                      \
  extern "C" __attribute__((visibility("default"))) const ::brood::abi::Library* brood_job_library() { \
    return ::brood::detail::job_library<>();                                                           \
  }
