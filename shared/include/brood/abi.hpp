#pragma once

#include <cstddef>
#include <cstdint>

// The interface between a worker and a job library: plain C structs and function pointers.  So the two may be built by
// different compilers, standard libraries and allocators.  No exception crosses it.  Authors of jobs do not need this
// file: BROOD_JOBS in <brood/job.hpp> fills the structs in.
//
// No member ever changes its place, type or meaning, and no enumerator its number.  A struct may only grow at its end.
// It has no padding: in its place a member `unused` is 0.  The side that makes a struct writes its size into it.
// Before the other side reads or writes a member that the first headers of this version lack, it calls has(): a member
// beyond the size is absent.  It follows that
//
//  - a library built with older headers runs under a newer worker, which takes members beyond the end of its Library
//    and JobClass as null;
//  - a library built with newer headers runs under an older worker, which ignores members that it does not know.  A
//    feature that a worker must not ignore has a bit in Registered, since a worker refuses a library with unknown bits.
//    A library that needs a feature of its worker checks for it in the Call, as iterable jobs do.
//
// Other changes raise `version`, and a worker loads only libraries of its own version.  worker/job/abi_layout.cpp
// checks the layout: it does not compile if a member has moved.
namespace brood::abi {

inline constexpr std::uint32_t version = 1;

// Bytes that the side that made the text owns, without a terminating zero.  `data` may be null when `size` is 0.
struct Text {
  const char* data;
  std::size_t size;
};

// The saved state of an iterable job.
struct IterationState {
  std::size_t size;
  std::int64_t executions;  // number of runs that have begun; the present run counts when saved, but not when loaded
  double run_seconds;       // total time of the runs that have ended
  Text cursor;              // JSON; empty: none yet.  A loaded cursor stays valid until the next of these calls
  std::uint32_t cancelled;  // when loaded: not 0 if the job was cancelled
  std::uint32_t unused;
};

enum IterationAnswer : std::uint32_t {
  iteration_loaded = 0,
  iteration_away = 1,  // the worker must end while it waits for Redis
  iteration_none = 2   // the stored value is not a state; `cursor` holds the reason
};

// A worker stores the states of iterable jobs with these functions.  Pass each the call's `host`.
struct Iterations {
  std::size_t size;
  std::int64_t max_runtime_ms;                               // 0: no limit
  int (*interrupt)(void* host);                              // not 0: save the state, and end the run as interrupted
  std::uint32_t (*load)(void* host, IterationState* state);  // IterationAnswer
  int (*save)(void* host, const IterationState* state);      // not 0: the job was cancelled
  void (*end)(void* host);                                   // the job is done: its state may be removed
};

enum LimitKind : std::uint32_t {
  limit_concurrent = 0,
  limit_bucket = 1,
  limit_window = 2,
  limit_leaky = 3,
  limit_points = 4
};

// A limit as a library defines it, and the amount that a job takes of it.
struct Limit {
  std::size_t size;
  Text name;           // [A-Za-z0-9_-]+, at most 100
  std::uint32_t kind;  // LimitKind
  std::uint32_t unused;
  std::int64_t amount;
  std::int64_t interval_ms;     // 0 when concurrent
  std::int64_t wanted;          // the part of the amount that the job takes
  std::int64_t known_for_s;     // how long Redis keeps it after its last use, in seconds
  std::int64_t defined_ago_ms;  // age of this definition; the latest definition of a name is the effective one
  std::int64_t difference;      // in give_back: points used minus points wanted
};

enum LimitAnswer : std::uint32_t {
  limit_taken = 0,
  limit_over = 1,    // not within the time that the job waits
  limit_away = 2,    // the worker must end while the job waits
  limit_refused = 3  // not a valid limit, or Redis refuses it; `why` holds the reason
};

// The reason for which take() did not take the limits.
struct LimitRefusal {
  std::size_t size;
  std::size_t which;  // index of the limit that is reached
  Text why;           // when refused; valid until the next of these calls
};

// A worker takes limits for jobs with these functions.  Pass each the call's `host`.
struct Limits {
  std::size_t size;
  // Takes all limits or none, and waits up to `wait_ms`.  Returns a LimitAnswer.
  std::uint32_t (*take)(void* host, const Limit* const* limits, std::size_t count, std::int64_t wait_ms,
                        LimitRefusal* refusal);
  // Gives back the limits that one call of take() has taken.
  void (*give_back)(void* host, const Limit* const* limits, std::size_t count);
};

// One attempt, as the worker describes it.  All members are valid until the call returns.
struct Call {
  std::size_t size;  // of this struct
  Text job_class, jid, queue;
  Text args;                                                   // the JSON array
  Text payload;                                                // the whole JSON text of the job
  std::int64_t earlier_attempts;                               // 0: this is the first attempt
  void* host;                                                  // the argument of the functions below
  int (*stopping)(void* host);                                 // not 0: the job should end soon
  void (*log)(void* host, std::uint32_t level, Text message);  // LogLevel
  // Returns the milliseconds until the deadline; -1: there is none, 0: it has passed.
  std::int64_t (*time_left_ms)(void* host);
  // Moves the deadline to `ms` milliseconds from now.
  void (*set_time_left)(void* host, std::int64_t ms);
  Text capsule;  // of the worker; empty in `brood perform`
  // For iterable jobs; null where states are not stored.
  const Iterations* iterations;
  // Adds `name=value` to each further log line of this attempt.
  void (*log_with)(void* host, Text name, Text value);
  // For jobs with limits; null where limits are not available.
  const Limits* limits;
  Text bid;  // of the job's batch; empty: it is in none
  // Returns not 0 once the batch was cancelled; null where that is not known.
  int (*batch_cancelled)(void* host);
  // Keeps the job's result, a JSON text of at most longest_result bytes; the last call counts.
  void (*result)(void* host, Text json);
  // Reports that the job has done the part `done` of `total`.  A total of 0 or less: it is unknown.
  void (*progress)(void* host, std::int64_t done, std::int64_t total, Text note);
  // Reads the result of a step of the job's flow, a JSON text that is valid until the next of these calls.  Returns 0
  // if the step has left no result.  Null where results of steps are not available.
  int (*result_of)(void* host, Text step, Text* json);
};

// Returns whether `object`, which may have been made with other headers, is long enough to have this member.
template <typename Struct, typename Member>
bool has(const Struct& object, Member Struct::*member) {
  const auto end = reinterpret_cast<const char*>(&(object.*member) + 1);
  return static_cast<std::size_t>(end - reinterpret_cast<const char*>(&object)) <= object.size;
}

enum LogLevel : std::uint32_t { log_debug = 0, log_info = 1, log_warn = 2, log_error = 3 };

enum ResultKind : std::uint32_t { result_succeeded = 0, result_failed = 1, result_interrupted = 2 };

// How an attempt ended.  The texts are valid until the next call into the same library on the same thread.
struct Result {
  std::size_t size;
  std::uint32_t kind;  // ResultKind
  std::uint32_t unused;
  Text error_class, message;  // when failed
  std::int64_t delay_ms;      // when interrupted: the wait before the next run; 0: the worker chooses
  const void* thrown;         // when failed: address of the exception, by which its throw is found; null: unknown
  // When failed: if not 0, the job was over a limit.  It is rescheduled at most this number of times before it counts
  // as failed.
  std::int64_t most_deferrals;
  std::int64_t deferral_ms;  // over a limit: the delay; less than 0: the worker chooses
};

// The failure of an attempt, for hooks and death handlers.  Unless `crashed` is 1, the library passes the exception
// that it kept from its last perform on this thread.
struct Failure {
  std::size_t size;
  Text error_class, message;
  std::uint32_t crashed;  // 1: the job ended its worker, without an exception
  std::uint32_t unused;
};

enum AnswerKind : std::uint32_t {
  answer_none = 0,
  answer_delay = 1,
  answer_discard = 2,
  answer_kill = 3,
  answer_threw = 4
};

// The answer of a hook.
struct Answer {
  std::size_t size;
  std::uint32_t kind;  // AnswerKind
  std::uint32_t unused;
  std::int64_t delay_seconds;  // when delay
  Text error_class, message;   // when threw
};

enum RetryKind : std::uint32_t { retry_yes = 0, retry_no = 1, retry_count = 2 };

// The changes that a library's middleware makes for the code inside.  A null text: unchanged.
struct Changes {
  std::size_t size;
  Text job_class, args, payload;
};

// The code inside of a library's middleware.  The middleware may run it any number of times until the middleware
// returns.  Each run writes its end into the Result, whose texts are valid until the next run.
struct Inside {
  std::size_t size;
  void* host;
  void (*run)(void* host, const Changes*, Result*);
};

enum EventKind : std::uint32_t {
  event_fork = 0,
  event_startup = 1,
  event_heartbeat = 2,
  event_beat = 3,
  event_quiet = 4,
  event_shutdown = 5,
  event_exit = 6,
  event_crash = 7,
  event_preload = 8
};

// One event in a worker's life, or a crash.  All members are valid until the call returns.
struct Occasion {
  std::size_t size;
  std::uint32_t kind;  // EventKind
  std::int32_t slot;
  Text capsule;
  const Call* call;        // at a crash the job; else null
  const Failure* failure;  // at a crash the failure of the job; else null
  Text report;             // at a crash the lines of its report; else empty
  void* host;              // the argument of the function below
  void (*log)(void* host, std::uint32_t level, Text message);
};

// The kinds of code that a library has registered besides its jobs.  The bit of event kind k is registered_event << k.
enum Registered : std::uint64_t {
  registered_middleware = 1,
  registered_error_handler = 2,
  registered_death_handler = 4,
  registered_periodic = 8,
  registered_event = 1 << 8
};

enum IsolationKind : std::uint32_t { isolation_worker = 0, isolation_process = 1 };
enum ThreadsKind : std::uint64_t { threads_as_configured = 0, threads_replace = 1, threads_allow = 2 };

// One job class.
struct JobClass {
  std::size_t size;
  Text name;                 // [A-Za-z0-9_:]+, at most 255
  std::uint32_t retry_kind;  // RetryKind
  std::uint32_t retry_count;
  std::int64_t timeout_ms;  // 0: the worker's default
  void (*perform)(const Call*, Result*);
  void (*retry_in)(const Call*, const Failure*, std::int64_t count, Answer*);  // null: no such hook
  void (*exhausted)(const Call*, const Failure*, Answer*);                     // null: no such hook
  std::uint32_t isolation;                                                     // IsolationKind
  std::uint32_t unused;
  std::uint64_t threads;                     // ThreadsKind: the fate of a worker in which a job has left threads
  void (*on_expired)(const Call*, Answer*);  // null: no such hook
  // Reads the call's arguments without performing the job.  The Result is failed (ArgumentError) if they do not fit.
  // Null: the library cannot check them.
  void (*check_arguments)(const Call*, Result*);
  std::uint64_t encrypts;  // not 0: clients encrypt the last argument of its jobs
  // Returns a JSON object that describes the class's options and fields (<brood/detail/describe_job.hpp>), valid as
  // long as the library is loaded; empty: not known.  Null: not known.
  Text (*describe)();
};

// The description of a job library.  brood_job_library() returns it, valid as long as the library is loaded.  If it has
// no job classes, its middleware and handlers serve the jobs of all libraries.
struct Library {
  std::uint32_t abi;   // equals `version`; read before everything else
  std::uint32_t size;  // of this struct
  Text built_with;     // compiler and header version, for people
  std::size_t job_count;
  const JobClass* const* jobs;
  // Runs the author's brood_setup.  The worker calls it once, before all jobs.  The worker refuses the library if the
  // Result is failed.  Null: the library has no brood_setup.
  void (*set_up)(Result*);
  std::uint64_t (*registered)();  // Registered bits; call it after set_up; null: none
  // Each is called only when its bit is registered.  run_middleware runs one job within the library's middleware; it
  // is called only for libraries without jobs.
  void (*run_middleware)(const Call*, const Inside*, Result*);
  // These run all handlers.  An exception of a handler is logged through the call.
  void (*run_error_handlers)(const Call*, const Failure*);
  void (*run_death_handlers)(const Call*, const Failure*);
  // Runs the handlers of one event.  An exception of a handler is logged through the occasion.  At startup it ends the
  // event, and the Result has it.
  void (*run_event_handlers)(const Occasion*, Result*);
  // Returns the library's periodic jobs, one line of JSON each, valid as long as the library is loaded.  It is called
  // only when its bit is registered.
  Text (*periodic)();
};

using Entry = const Library* (*)();
// The least sizes of a library and of a job class; members beyond them may be absent.
inline constexpr std::size_t least_library_size = offsetof(Library, set_up);
inline constexpr std::size_t least_job_class_size = offsetof(JobClass, retry_in);
// A library with more job classes is refused.
inline constexpr std::size_t most_jobs = 10'000;
// The most bytes of a state's cursor; a longer one is not saved.
inline constexpr std::size_t longest_cursor = std::size_t{16} << 20U;
// The most bytes of a job's result; a longer one is not kept.
inline constexpr std::size_t longest_result = std::size_t{1} << 20U;

inline constexpr const char* entry_symbol = "brood_job_library";

}  // namespace brood::abi
