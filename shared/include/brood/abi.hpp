#pragma once

#include <cstddef>
#include <cstdint>

// What crosses the border between a worker and a job library: plain C structs and function pointers, so that the two
// may be built by different compilers, standard libraries and allocators.  No exception passes it.  Job authors never
// see this page; BROOD_JOBS in <brood/job.hpp> fills it in.
//
// What is here never changes its place, type or meaning, and no enumerator its number.  A struct only ever grows at its
// end, where no padding hides a member: what would be padding is a member `unused`, which is 0.  Each struct carries
// its size, set by whoever made it.  Whoever reads a member that was not in the first headers of this version, or
// writes it into a struct that the other side has made, first asks has(): beyond the size it is absent.  So
//
//  - a library built with older headers runs under a newer worker: what its Library and JobClass lack is null there;
//  - one built with newer headers runs under an older worker, which passes over what it does not know.  What it must
//    not pass over is a bit of its own in Registered, since a worker refuses a library with bits that it does not know;
//    and what a library needs of its worker it looks for in the Call, as iterable jobs do.
//
// Only a change that cannot be made so raises `version`, and a worker loads no library of another one.  Where
// everything lies is in worker/job/abi_layout.cpp, which does not compile when something has moved.
namespace brood::abi {

inline constexpr std::uint32_t version = 1;

// Bytes that somebody else owns.  Not terminated; `data` may be null when `size` is 0.
struct Text {
  const char* data;
  std::size_t size;
};

// How far an iterable job has come.
struct IterationState {
  std::size_t size;
  std::int64_t executions;  // runs that were begun: when loaded without the one under way, when saved with it
  double run_seconds;       // of the runs that have ended
  Text cursor;              // JSON; empty: none yet.  A loaded one lives until the next of these calls
  std::uint32_t cancelled;  // loaded: not 0: somebody has cancelled the job
  std::uint32_t unused;
};

enum IterationAnswer : std::uint32_t {
  iteration_loaded = 0,
  iteration_away = 1,  // the worker is told to end while it waits for its Redis
  iteration_none = 2   // what lies there is no state; `cursor` says why
};

// What a worker does for iterable jobs: it keeps their states.  `host` is the call's.
struct Iterations {
  std::size_t size;
  std::int64_t max_runtime_ms;                               // 0: no limit
  int (*interrupt)(void* host);                              // not 0: save, and let another worker go on
  std::uint32_t (*load)(void* host, IterationState* state);  // IterationAnswer
  int (*save)(void* host, const IterationState* state);      // not 0: somebody has cancelled the job
  void (*end)(void* host);                                   // the job is done: its state is needed no more
};

enum LimitKind : std::uint32_t {
  limit_concurrent = 0,
  limit_bucket = 1,
  limit_window = 2,
  limit_leaky = 3,
  limit_points = 4
};

// A limit as a library defines it, and how much a job wants of it.
struct Limit {
  std::size_t size;
  Text name;           // [A-Za-z0-9_-]+, at most 100
  std::uint32_t kind;  // LimitKind
  std::uint32_t unused;
  std::int64_t amount;
  std::int64_t interval_ms;     // 0 when concurrent
  std::int64_t wanted;          // of the amount
  std::int64_t known_for_s;     // after its last use
  std::int64_t defined_ago_ms;  // of two definitions of one name the later holds
  std::int64_t difference;      // given back: points that were used beside those that were wanted
};

enum LimitAnswer : std::uint32_t {
  limit_taken = 0,
  limit_over = 1,    // not in the time that the job waits
  limit_away = 2,    // the worker is told to end while the job waits
  limit_refused = 3  // what is asked for is no limit, or Redis does not keep it; `why` says so
};

// Why a job may not go on.
struct LimitRefusal {
  std::size_t size;
  std::size_t which;  // of the limits stands in the way
  Text why;           // when refused; lives until the next of these calls
};

// What a worker does for jobs with limits.  `host` is the call's.
struct Limits {
  std::size_t size;
  // Takes all of them or none, and waits for that as long; LimitAnswer.
  std::uint32_t (*take)(void* host, const Limit* const* limits, std::size_t count, std::int64_t wait_ms,
                        LimitRefusal* refusal);
  void (*give_back)(void* host, const Limit* const* limits, std::size_t count);  // what was taken by one call
};

// One attempt, as the worker describes it.  Everything lives until the call returns.
struct Call {
  std::size_t size;  // of this struct
  Text job_class, jid, queue;
  Text args;                                                   // the JSON array
  Text payload;                                                // the whole JSON text of the job
  std::int64_t earlier_attempts;                               // 0: the first
  void* host;                                                  // handed back to the functions below
  int (*stopping)(void* host);                                 // not 0: wind up
  void (*log)(void* host, std::uint32_t level, Text message);  // LogLevel
  // The deadline, from now in milliseconds; -1: there is none, 0: it has passed.
  std::int64_t (*time_left_ms)(void* host);
  // Moves the deadline to so many milliseconds from now.
  void (*set_time_left)(void* host, std::int64_t ms);
  Text capsule;  // of the worker; empty where no worker asks
  // For iterable jobs; null where no states are kept.
  const Iterations* iterations;
  // From now on every line of the log about this attempt has this as well.
  void (*log_with)(void* host, Text name, Text value);
  // For jobs with limits; null where nobody keeps them.
  const Limits* limits;
};

// Whether `object`, which may come from somebody with other headers, is long enough to have this member.
template <typename Struct, typename Member>
bool has(const Struct& object, Member Struct::*member) {
  const auto end = reinterpret_cast<const char*>(&(object.*member) + 1);
  return static_cast<std::size_t>(end - reinterpret_cast<const char*>(&object)) <= object.size;
}

enum LogLevel : std::uint32_t { log_debug = 0, log_info = 1, log_warn = 2, log_error = 3 };

enum ResultKind : std::uint32_t { result_succeeded = 0, result_failed = 1, result_interrupted = 2 };

// How an attempt ended.  The texts live until the next call into the same library on the same thread.
struct Result {
  std::size_t size;
  std::uint32_t kind;  // ResultKind
  std::uint32_t unused;
  Text error_class, message;  // when failed
  std::int64_t delay_ms;      // when interrupted: how long it waits before it runs again; 0: as the worker likes
  const void* thrown;         // when failed: where the exception lies, by which its throw is found; null: not said
  // When failed: not 0: it was over a limit, and is to be put off up to so many times, before that counts as a failure.
  std::int64_t most_put_off;
  std::int64_t put_off_ms;  // likewise: for so long; less than 0: as the worker likes
};

// Why an attempt failed, for hooks and death handlers.  Unless `crashed`, the library matches it with the exception
// that its last perform on this thread kept.
struct Failure {
  std::size_t size;
  Text error_class, message;
  std::uint32_t crashed;  // 1: the worker died of it, no exception was thrown
  std::uint32_t unused;
};

enum AnswerKind : std::uint32_t {
  answer_none = 0,
  answer_delay = 1,
  answer_discard = 2,
  answer_kill = 3,
  answer_threw = 4
};

// What a hook answered.
struct Answer {
  std::size_t size;
  std::uint32_t kind;  // AnswerKind
  std::uint32_t unused;
  std::int64_t delay_seconds;  // when delay
  Text error_class, message;   // when threw
};

enum RetryKind : std::uint32_t { retry_yes = 0, retry_no = 1, retry_count = 2 };

// What a library's middleware has changed for what runs inside; a null text: as it was.
struct Changes {
  std::size_t size;
  Text job_class, args, payload;
};

// What is inside of a library's middleware.  It may be run as often as it likes, until the middleware returns; each
// time it says by the Result how that went, whose texts live until it is run again.
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

// One event in a worker's life, or a crash.  Everything lives until the call returns.
struct Occasion {
  std::size_t size;
  std::uint32_t kind;  // EventKind
  std::int32_t slot;
  Text capsule;
  const Call* call;        // at a crash: the job; else null
  const Failure* failure;  // likewise
  Text report;             // likewise: lines
  void* host;              // handed back to the function below
  void (*log)(void* host, std::uint32_t level, Text message);
};

// What a library has registered besides its jobs; the event of kind k is registered_event << k.
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
  std::uint64_t threads;                     // ThreadsKind: what becomes of a worker in which a job has left threads
  void (*on_expired)(const Call*, Answer*);  // null: no such hook
  // Reads the call's arguments and performs nothing: failed (ArgumentError) if they do not fit.  Null: cannot tell.
  void (*check_arguments)(const Call*, Result*);
  std::uint64_t encrypts;  // not 0: clients encrypt the last argument of its jobs
};

// What brood_job_library() returns; it lives as long as the library.  Without job classes its middleware and its
// handlers serve the jobs of all libraries.
struct Library {
  std::uint32_t abi;   // version: looked at before anything else
  std::uint32_t size;  // of this struct
  Text built_with;     // for people: compiler and header version
  std::size_t job_count;
  const JobClass* const* jobs;
  // Runs the author's brood_setup; called once, before any job.  A Result of kind failed refuses the library.  Null:
  // there is none.
  void (*set_up)(Result*);
  std::uint64_t (*registered)();  // Registered, after that; null: nothing
  // Each is called only when `registered` says so.  The first runs one job within the library's middleware, and is
  // asked only of libraries without jobs of their own.
  void (*run_middleware)(const Call*, const Inside*, Result*);
  // Run every handler; what one throws is logged through the call.
  void (*run_error_handlers)(const Call*, const Failure*);
  void (*run_death_handlers)(const Call*, const Failure*);
  // Runs the handlers of one event; what one throws is logged through the occasion, and ends a startup as the Result.
  void (*run_event_handlers)(const Occasion*, Result*);
  // Its periodic jobs, a line of JSON each, as long as the library lives: asked only when `registered` says so.
  Text (*periodic)();
};

using Entry = const Library* (*)();
// What no library may lack, nor any of its job classes; what follows may be absent.
inline constexpr std::size_t least_library_size = offsetof(Library, set_up);
inline constexpr std::size_t least_job_class_size = offsetof(JobClass, retry_in);
// More are a mistake.
inline constexpr std::size_t most_jobs = 10'000;
// In bytes, of a state's cursor: a larger one is not saved.
inline constexpr std::size_t longest_cursor = std::size_t{16} << 20U;

inline constexpr const char* entry_symbol = "brood_job_library";

}  // namespace brood::abi
