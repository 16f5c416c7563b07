#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <brood/abi.hpp>
#include <brood/detail/attempt.hpp>
#include <brood/detail/current_call.hpp>
#include <brood/error.hpp>
#include <brood/setup.hpp>

// The two ways to run a library's middleware around a job: around a job of the same library, where exceptions are C++
// exceptions, and around a job of another library, where they are texts.
#pragma GCC visibility push(hidden)
namespace brood::detail {

inline Registrations& registrations() {
  static Registrations registrations;
  return registrations;
}

// A job class of this library without its middleware.
struct JobBody {
  std::string_view job_class;
  void (*run)(const abi::Call&);
};

inline std::span<const JobBody>& own_bodies() {
  static std::span<const JobBody> bodies;
  return bodies;
}

inline const JobBody& own_body(std::string_view job_class) {
  for (const JobBody& body : own_bodies()) {
    if (body.job_class == job_class) return body;
  }
  throw JobFailure("NameError", "middleware made the class \"" + std::string(job_class) +
                                    "\" of it, which this library does not have");
}

// Runs a job of this library with the middleware's changes.
inline void run_changed(const abi::Call& fetched, const Run& run) {
  abi::Call call{};
  std::memcpy(&call, &fetched, std::min(fetched.size, sizeof call));
  call.size = std::min(fetched.size, sizeof call);
  const std::string payload = run.payload();
  call.job_class = text_of(run.job_class());
  call.args = text_of(run.args());
  call.payload = text_of(payload);
  own_body(run.job_class()).run(call);
}

inline void run_in_own_middleware(const abi::Call& call, void (*body)(const abi::Call&)) {
  const ServerMiddleware& middleware = registrations().middleware;
  if (middleware.empty()) return body(call);
  Run run(call);
  middleware.run(run, [&] { run.changed() ? run_changed(call, run) : body(call); });
}

// Lets the worker run a job of another library with the middleware's changes.
inline void run_inside(const abi::Inside& inside, const Run& run) {
  const std::string payload = run.changed() ? run.payload() : std::string();
  abi::Changes changes{sizeof changes, {}, {}, {}};
  if (run.changed()) {
    changes.job_class = text_of(run.job_class());
    changes.args = text_of(run.args());
    changes.payload = text_of(payload);
  }
  abi::Result result{};
  result.size = sizeof result;
  inside.run(inside.host, &changes, &result);
  switch (result.kind) {
    case abi::result_succeeded:
      return;
    case abi::result_failed:
      throw JobFailure(std::string(view_of(result.error_class)), std::string(view_of(result.message)));
    case abi::result_interrupted:
      throw Interrupted{.in = std::chrono::milliseconds(result.delay_ms)};
    default:
      throw EndedInside{result.kind};
  }
}

inline void run_middleware(const abi::Call* call, const abi::Inside* inside, abi::Result* result) {
  const CurrentCall current(*call);
  answer_for(
      [&] {
        Run run(*call);
        registrations().middleware.run(run, [&] { run_inside(*inside, run); });
      },
      *result);
}

}  // namespace brood::detail
#pragma GCC visibility pop
