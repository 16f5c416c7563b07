#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "worker/job/job_host.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// The longest delay that an interrupted job may ask for: the same as for a client that schedules a job.
inline constexpr std::chrono::milliseconds longest_job_delay = std::chrono::seconds(999'999'999);

// How one attempt ended.
struct Performed {
  enum class Kind {
    succeeded,
    failed,
    interrupted,
    over_limit,  // a limit that it needs is reached: it is deferred by `delay`
  } kind = Kind::succeeded;
  Failure failure;                     // when failed, or over a limit
  const void* thrown = nullptr;        // then too: the address of the exception, for ThrowWatch; null: not known
  std::chrono::milliseconds delay{0};  // when interrupted: the delay that the job has asked for; 0: none
  // When it failed because a limit was reached: how often it may be deferred for that, and for how long each time; less
  // than 0: for the usual time.
  std::int64_t most_deferrals = 0;
  std::chrono::milliseconds defer_for{-1};
};

// Runs the code of one job and turns every exception into a Performed.  An unknown class and arguments that do not fit
// are failures (`NameError`, `ArgumentError`); their messages name the class, the argument and its type.
Performed perform(const JobRegistry& registry, const Payload& job, std::string_view queue, const JobHost& host);

// Runs a job whose code is in no library: calls `body` inside the middleware of the libraries that serve all classes,
// with the payload that this middleware may have changed.
Performed perform_in_middleware(const JobRegistry& registry, const Payload& job, std::string_view queue,
                                const JobHost& host, const std::function<Performed(const Payload&)>& body);

// Called instead of perform() for a job that has expired: runs the class's on_expired hook, if it has one.  Returns the
// failure of the hook.
std::optional<Failure> tell_expired(const JobRegistry& registry, const Payload& job, std::string_view queue);

// Why a job with these arguments could not begin: its class is unknown (`NameError`), or its arguments do not fit
// (`ArgumentError`).  Does not perform it.  Also nullopt if the library was built with older headers and cannot tell.
std::optional<Failure> why_not_performable(const JobRegistry& registry, const Payload& job);

// Turns the failure of a job into over_limit if a limit was the reason and the job was not deferred too often yet.  The
// job is deferred for as long as it asks for, or for 5 minutes more each time.  `jitter` is a number in [0, 1) for the
// random part of that usual delay.
Performed defer_over_limit(Performed performed, const Payload& job, double jitter);

// How long the job may run: its payload's `timeout` (seconds), else its class's, else `otherwise`; nullopt: for ever.
std::optional<std::chrono::milliseconds> timeout_of(const JobRegistry& registry, const Payload& job,
                                                    std::chrono::milliseconds otherwise);

// The class's own `retry`; nullopt when the class is unknown.
std::optional<RetryOption> class_retry(const JobRegistry& registry, const Payload& job);

}  // namespace brood
