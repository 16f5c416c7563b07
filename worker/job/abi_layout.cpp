#include <brood/abi.hpp>

#include <type_traits>

// The offset of each member that job libraries and brood share.  Libraries that were built with other headers of the
// same version read and write by this table, so a line of it never changes.  A struct that grows gets further lines;
// any other change needs another abi::version, which refuses all libraries built before.
namespace brood::abi {
namespace {

static_assert(version == 1, "a new version of brood::abi has a new table: write down its structs as they are now");

template <auto Member>
struct TypeOf;
template <typename Struct, typename Type, Type Struct::*Member>
struct TypeOf<Member> {
  using Is = Type;
};

// A double has two ways to write some numbers, so a struct with one fails the test.
template <typename Struct>
constexpr bool has_no_padding = std::has_unique_object_representations_v<Struct>;
template <>
constexpr bool has_no_padding<IterationState> = true;

// Each struct: its members in order, and then where the last one ends.
#define BROOD_MEMBER(Struct, member, at, ...)                                                                 \
  static_assert(offsetof(Struct, member) == (at) && std::is_same_v<TypeOf<&Struct::member>::Is, __VA_ARGS__>, \
                "brood::abi::" #Struct "::" #member                                                           \
                " has moved or has another type, and libraries that are built do not know: put it back, "     \
                "grow the struct at its end, or raise the number brood::abi::version")
#define BROOD_END(Struct, at)                                                                                        \
  static_assert(sizeof(Struct) == (at) && std::is_trivially_copyable_v<Struct> && std::is_standard_layout_v<Struct>, \
                "brood::abi::" #Struct                                                                               \
                " has grown or shrunk: write down here what it has at its end; for anything "                        \
                "else raise the number brood::abi::version");                                                        \
  static_assert(has_no_padding<Struct>, "brood::abi::" #Struct                                                       \
                                        " has padding, in which a later member would look as if it had always been " \
                                        "there: fill it with a member `unused`")
#define BROOD_NUMBER(name, number)                                          \
  static_assert((name) == (number), "brood::abi::" #name " is " #number     \
                                    " to libraries that are built: put it " \
                                    "back, or raise the number brood::abi::version")

using IntOfHost = int (*)(void*);
using Log = void (*)(void*, std::uint32_t, Text);

static_assert(sizeof(void*) == 8 && sizeof(std::size_t) == 8, "this table is for machines of 64 bits");

BROOD_MEMBER(Text, data, 0, const char*);
BROOD_MEMBER(Text, size, 8, std::size_t);
BROOD_END(Text, 16);

BROOD_MEMBER(IterationState, size, 0, std::size_t);
BROOD_MEMBER(IterationState, executions, 8, std::int64_t);
BROOD_MEMBER(IterationState, run_seconds, 16, double);
BROOD_MEMBER(IterationState, cursor, 24, Text);
BROOD_MEMBER(IterationState, cancelled, 40, std::uint32_t);
BROOD_MEMBER(IterationState, unused, 44, std::uint32_t);
BROOD_END(IterationState, 48);

BROOD_MEMBER(Iterations, size, 0, std::size_t);
BROOD_MEMBER(Iterations, max_runtime_ms, 8, std::int64_t);
BROOD_MEMBER(Iterations, interrupt, 16, IntOfHost);
BROOD_MEMBER(Iterations, load, 24, std::uint32_t (*)(void*, IterationState*));
BROOD_MEMBER(Iterations, save, 32, int (*)(void*, const IterationState*));
BROOD_MEMBER(Iterations, end, 40, void (*)(void*));
BROOD_END(Iterations, 48);

BROOD_MEMBER(Call, size, 0, std::size_t);
BROOD_MEMBER(Call, job_class, 8, Text);
BROOD_MEMBER(Call, jid, 24, Text);
BROOD_MEMBER(Call, queue, 40, Text);
BROOD_MEMBER(Call, args, 56, Text);
BROOD_MEMBER(Call, payload, 72, Text);
BROOD_MEMBER(Call, earlier_attempts, 88, std::int64_t);
BROOD_MEMBER(Call, host, 96, void*);
BROOD_MEMBER(Call, stopping, 104, IntOfHost);
BROOD_MEMBER(Call, log, 112, Log);
BROOD_MEMBER(Call, time_left_ms, 120, std::int64_t (*)(void*));
BROOD_MEMBER(Call, set_time_left, 128, void (*)(void*, std::int64_t));
BROOD_MEMBER(Call, capsule, 136, Text);
BROOD_MEMBER(Call, iterations, 152, const Iterations*);
BROOD_MEMBER(Call, log_with, 160, void (*)(void*, Text, Text));
BROOD_MEMBER(Call, limits, 168, const Limits*);
BROOD_MEMBER(Call, bid, 176, Text);
BROOD_MEMBER(Call, batch_cancelled, 192, IntOfHost);
BROOD_MEMBER(Call, result, 200, void (*)(void*, Text));
BROOD_MEMBER(Call, progress, 208, void (*)(void*, std::int64_t, std::int64_t, Text));
BROOD_MEMBER(Call, result_of, 216, int (*)(void*, Text, Text*));
BROOD_END(Call, 224);

BROOD_MEMBER(Limit, size, 0, std::size_t);
BROOD_MEMBER(Limit, name, 8, Text);
BROOD_MEMBER(Limit, kind, 24, std::uint32_t);
BROOD_MEMBER(Limit, unused, 28, std::uint32_t);
BROOD_MEMBER(Limit, amount, 32, std::int64_t);
BROOD_MEMBER(Limit, interval_ms, 40, std::int64_t);
BROOD_MEMBER(Limit, wanted, 48, std::int64_t);
BROOD_MEMBER(Limit, known_for_s, 56, std::int64_t);
BROOD_MEMBER(Limit, defined_ago_ms, 64, std::int64_t);
BROOD_MEMBER(Limit, difference, 72, std::int64_t);
BROOD_END(Limit, 80);

BROOD_MEMBER(LimitRefusal, size, 0, std::size_t);
BROOD_MEMBER(LimitRefusal, which, 8, std::size_t);
BROOD_MEMBER(LimitRefusal, why, 16, Text);
BROOD_END(LimitRefusal, 32);

BROOD_MEMBER(Limits, size, 0, std::size_t);
BROOD_MEMBER(Limits, take, 8, std::uint32_t (*)(void*, const Limit* const*, std::size_t, std::int64_t, LimitRefusal*));
BROOD_MEMBER(Limits, give_back, 16, void (*)(void*, const Limit* const*, std::size_t));
BROOD_END(Limits, 24);

BROOD_MEMBER(Result, size, 0, std::size_t);
BROOD_MEMBER(Result, kind, 8, std::uint32_t);
BROOD_MEMBER(Result, unused, 12, std::uint32_t);
BROOD_MEMBER(Result, error_class, 16, Text);
BROOD_MEMBER(Result, message, 32, Text);
BROOD_MEMBER(Result, delay_ms, 48, std::int64_t);
BROOD_MEMBER(Result, thrown, 56, const void*);
BROOD_MEMBER(Result, most_deferrals, 64, std::int64_t);
BROOD_MEMBER(Result, deferral_ms, 72, std::int64_t);
BROOD_END(Result, 80);

BROOD_MEMBER(Failure, size, 0, std::size_t);
BROOD_MEMBER(Failure, error_class, 8, Text);
BROOD_MEMBER(Failure, message, 24, Text);
BROOD_MEMBER(Failure, crashed, 40, std::uint32_t);
BROOD_MEMBER(Failure, unused, 44, std::uint32_t);
BROOD_END(Failure, 48);

BROOD_MEMBER(Answer, size, 0, std::size_t);
BROOD_MEMBER(Answer, kind, 8, std::uint32_t);
BROOD_MEMBER(Answer, unused, 12, std::uint32_t);
BROOD_MEMBER(Answer, delay_seconds, 16, std::int64_t);
BROOD_MEMBER(Answer, error_class, 24, Text);
BROOD_MEMBER(Answer, message, 40, Text);
BROOD_END(Answer, 56);

BROOD_MEMBER(Changes, size, 0, std::size_t);
BROOD_MEMBER(Changes, job_class, 8, Text);
BROOD_MEMBER(Changes, args, 24, Text);
BROOD_MEMBER(Changes, payload, 40, Text);
BROOD_END(Changes, 56);

BROOD_MEMBER(Inside, size, 0, std::size_t);
BROOD_MEMBER(Inside, host, 8, void*);
BROOD_MEMBER(Inside, run, 16, void (*)(void*, const Changes*, Result*));
BROOD_END(Inside, 24);

BROOD_MEMBER(Occasion, size, 0, std::size_t);
BROOD_MEMBER(Occasion, kind, 8, std::uint32_t);
BROOD_MEMBER(Occasion, slot, 12, std::int32_t);
BROOD_MEMBER(Occasion, capsule, 16, Text);
BROOD_MEMBER(Occasion, call, 32, const Call*);
BROOD_MEMBER(Occasion, failure, 40, const Failure*);
BROOD_MEMBER(Occasion, report, 48, Text);
BROOD_MEMBER(Occasion, host, 64, void*);
BROOD_MEMBER(Occasion, log, 72, Log);
BROOD_END(Occasion, 80);

BROOD_MEMBER(JobClass, size, 0, std::size_t);
BROOD_MEMBER(JobClass, name, 8, Text);
BROOD_MEMBER(JobClass, retry_kind, 24, std::uint32_t);
BROOD_MEMBER(JobClass, retry_count, 28, std::uint32_t);
BROOD_MEMBER(JobClass, timeout_ms, 32, std::int64_t);
BROOD_MEMBER(JobClass, perform, 40, void (*)(const Call*, Result*));
BROOD_MEMBER(JobClass, retry_in, 48, void (*)(const Call*, const Failure*, std::int64_t, Answer*));
BROOD_MEMBER(JobClass, exhausted, 56, void (*)(const Call*, const Failure*, Answer*));
BROOD_MEMBER(JobClass, isolation, 64, std::uint32_t);
BROOD_MEMBER(JobClass, unused, 68, std::uint32_t);
BROOD_MEMBER(JobClass, threads, 72, std::uint64_t);
BROOD_MEMBER(JobClass, on_expired, 80, void (*)(const Call*, Answer*));
BROOD_MEMBER(JobClass, check_arguments, 88, void (*)(const Call*, Result*));
BROOD_MEMBER(JobClass, encrypts, 96, std::uint64_t);
BROOD_MEMBER(JobClass, describe, 104, Text (*)());
BROOD_END(JobClass, 112);

BROOD_MEMBER(Library, abi, 0, std::uint32_t);
BROOD_MEMBER(Library, size, 4, std::uint32_t);
BROOD_MEMBER(Library, built_with, 8, Text);
BROOD_MEMBER(Library, job_count, 24, std::size_t);
BROOD_MEMBER(Library, jobs, 32, const JobClass* const*);
BROOD_MEMBER(Library, set_up, 40, void (*)(Result*));
BROOD_MEMBER(Library, registered, 48, std::uint64_t (*)());
BROOD_MEMBER(Library, run_middleware, 56, void (*)(const Call*, const Inside*, Result*));
BROOD_MEMBER(Library, run_error_handlers, 64, void (*)(const Call*, const Failure*));
BROOD_MEMBER(Library, run_death_handlers, 72, void (*)(const Call*, const Failure*));
BROOD_MEMBER(Library, run_event_handlers, 80, void (*)(const Occasion*, Result*));
BROOD_MEMBER(Library, periodic, 88, Text (*)());
BROOD_END(Library, 96);

// The sizes that every library of this version has at least.  Larger ones would refuse libraries that are built.
BROOD_NUMBER(least_library_size, 40);
BROOD_NUMBER(least_job_class_size, 48);

BROOD_NUMBER(iteration_loaded, 0);
BROOD_NUMBER(iteration_away, 1);
BROOD_NUMBER(iteration_none, 2);
BROOD_NUMBER(limit_concurrent, 0);
BROOD_NUMBER(limit_bucket, 1);
BROOD_NUMBER(limit_window, 2);
BROOD_NUMBER(limit_leaky, 3);
BROOD_NUMBER(limit_points, 4);
BROOD_NUMBER(limit_taken, 0);
BROOD_NUMBER(limit_over, 1);
BROOD_NUMBER(limit_away, 2);
BROOD_NUMBER(limit_refused, 3);
BROOD_NUMBER(log_debug, 0);
BROOD_NUMBER(log_info, 1);
BROOD_NUMBER(log_warn, 2);
BROOD_NUMBER(log_error, 3);
BROOD_NUMBER(result_succeeded, 0);
BROOD_NUMBER(result_failed, 1);
BROOD_NUMBER(result_interrupted, 2);
BROOD_NUMBER(answer_none, 0);
BROOD_NUMBER(answer_delay, 1);
BROOD_NUMBER(answer_discard, 2);
BROOD_NUMBER(answer_kill, 3);
BROOD_NUMBER(answer_threw, 4);
BROOD_NUMBER(retry_yes, 0);
BROOD_NUMBER(retry_no, 1);
BROOD_NUMBER(retry_count, 2);
BROOD_NUMBER(isolation_worker, 0);
BROOD_NUMBER(isolation_process, 1);
BROOD_NUMBER(threads_as_configured, 0);
BROOD_NUMBER(threads_replace, 1);
BROOD_NUMBER(threads_allow, 2);
BROOD_NUMBER(event_fork, 0);
BROOD_NUMBER(event_startup, 1);
BROOD_NUMBER(event_heartbeat, 2);
BROOD_NUMBER(event_beat, 3);
BROOD_NUMBER(event_quiet, 4);
BROOD_NUMBER(event_shutdown, 5);
BROOD_NUMBER(event_exit, 6);
BROOD_NUMBER(event_crash, 7);
BROOD_NUMBER(event_preload, 8);
BROOD_NUMBER(registered_middleware, 1);
BROOD_NUMBER(registered_error_handler, 2);
BROOD_NUMBER(registered_death_handler, 4);
BROOD_NUMBER(registered_periodic, 8);
BROOD_NUMBER(registered_event, 256);

}  // namespace
}  // namespace brood::abi
