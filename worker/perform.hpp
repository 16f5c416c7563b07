#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shared/job/failure.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/iteration.hpp"
#include "worker/job_registry.hpp"

namespace brood {

// What an iterable job may ask of its worker.
struct IterationHost {
  std::chrono::milliseconds max_runtime{0};  // 0: no limit
  std::function<bool()> interrupt = {};      // it is to let another worker go on
  // nullopt: the worker leaves before Redis has answered.  Throws UnexpectedReply.
  std::function<std::optional<IterationState>()> load = {};
  std::function<bool(const IterationState&)> save = {};  // true: somebody has cancelled the job
  std::function<void()> end = {};                        // the job is done
};

// What a running job may ask of its worker.
struct JobHost {
  std::function<bool()> stopping = {};
  std::function<std::optional<std::chrono::milliseconds>()> time_left = {};  // nullopt: no deadline
  std::function<void(std::chrono::milliseconds)> set_time_left = {};
  std::string capsule = {};
  std::optional<IterationHost> iterations = {};  // nullopt: it keeps no states
};

// How one attempt ended.
struct Performed {
  enum class Kind { succeeded, failed, interrupted } kind = Kind::succeeded;
  Failure failure;  // when failed
};

// Runs one job's code, whatever happens in it: every exception ends as a Performed.  An unknown class, or arguments
// that do not fit, are failures (`NameError`, `ArgumentError`) whose messages name class, argument and type.
Performed perform(const JobRegistry& registry, const Payload& job, std::string_view queue, const JobHost& host);

// Runs a job whose code is in no library: `body`, within the middleware of the libraries that serve all, with the
// payload that they have made of it.
Performed perform_in_middleware(const JobRegistry& registry, const Payload& job, std::string_view queue,
                                const JobHost& host, const std::function<Performed(const Payload&)>& body);

// The class's retry_in hook for the failure that perform() just returned, or for a crash: then the hook gets a
// brood::JobCrashed.  `none` when the class has no hook or the hook threw (logged).
HookAnswer ask_retry_in(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure);

// The class's exhausted hook; true when it answered `discard`.  False when there is none or it threw (logged).
bool ask_exhausted(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure);

// Every error handler of those libraries that are told of the job: see JobRegistry.  What they throw is logged and
// ignored.
void run_error_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure);

// The handlers of the event `crash`, of all libraries.  `report` is what is known of it, in lines.
void run_crash_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                        int slot, const std::string& report);

// Every death handler of the same libraries, likewise.
void run_death_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure);

// How long the job may run: its payload's `timeout` (seconds), else its class's, else `otherwise`; nullopt: for ever.
std::optional<std::chrono::milliseconds> timeout_of(const JobRegistry& registry, const Payload& job,
                                                    std::chrono::milliseconds otherwise);

// The class's own `retry`; nullopt when the class is unknown.
std::optional<RetryOption> class_retry(const JobRegistry& registry, const Payload& job);

}  // namespace brood
