#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>
#include <vector>

#include <brood/abi.hpp>
#include <brood/context.hpp>
#include <brood/detail/attempt.hpp>
#include <brood/detail/current_call.hpp>
#include <brood/detail/describe_job.hpp>
#include <brood/detail/iterate.hpp>
#include <brood/detail/job_class.hpp>
#include <brood/detail/named_member.hpp>
#include <brood/detail/own_middleware.hpp>
#include <brood/detail/read_arguments.hpp>
#include <brood/detail/registered.hpp>
#include <brood/retry.hpp>

// The plain functions and tables that BROOD_JOBS makes of job classes.  Their symbols are hidden, since two libraries
// may each have a `struct Resize`.
#pragma GCC visibility push(hidden)
namespace brood::detail {

template <typename Job>
void run_job(const abi::Call& call) {
  Job job = read_arguments<Job>(wire_name<Job>(), view_of(call.args));
  if constexpr (Iterable<Job>) {
    IterableRun<Job>(job, call).run();
  } else if constexpr (requires(Context & context) { job.perform(context); }) {
    Context context(call);
    job.perform(context);
  } else {
    job.perform();
  }
}

template <typename Job>
void perform_job(const abi::Call* call, abi::Result* result) {
  const CurrentCall current(*call);
  answer_for([&] { run_in_own_middleware(*call, &run_job<Job>); }, *result);
}

template <typename Job>
void check_arguments(const abi::Call* call, abi::Result* result) {
  answer_for([&] { static_cast<void>(read_arguments<Job>(wire_name<Job>(), view_of(call->args))); }, *result);
}

inline void answer_with_thrown(abi::Answer& answer) {
  static thread_local Thrown thrown;  // not last_thrown(), which still has the job's own exception
  thrown = describe_thrown();
  thrown.exception = nullptr;
  answer.kind = abi::answer_threw;
  answer.error_class = text_of(thrown.error_class);
  answer.message = text_of(thrown.message);
}

inline void set_answer(abi::Answer& answer, const RetryDecision& decision) {
  switch (decision.kind()) {
    case RetryDecision::Kind::usual:
      answer.kind = abi::answer_none;
      return;
    case RetryDecision::Kind::discarded:
      answer.kind = abi::answer_discard;
      return;
    case RetryDecision::Kind::killed:
      answer.kind = abi::answer_kill;
      return;
    case RetryDecision::Kind::after_delay:
      answer.kind = decision.delay().count() > 0 ? abi::answer_delay : abi::answer_none;
      answer.delay_seconds = decision.delay().count();
      return;
  }
}

// These tell static hooks from others.  A hook that is not static is called on a job that is made again from the
// arguments.
template <typename Job>
concept StaticRetryIn = requires(const std::exception& error, const JobInfo& info) {
  Job::retry_in(1, error, info);
}
|| requires(const std::exception& error) { Job::retry_in(1, error); };
template <typename Job>
concept HasRetryIn = StaticRetryIn<Job> || requires(Job job, const std::exception& error, const JobInfo& info) {
  job.retry_in(1, error, info);
} || requires(Job job, const std::exception& error) {
  job.retry_in(1, error);
};
template <typename Job>
concept StaticExhausted = requires(const JobInfo& info, const std::exception& error) {
  Job::exhausted(info, error);
};
template <typename Job>
concept HasExhausted = StaticExhausted<Job> || requires(Job job, const JobInfo& info, const std::exception& error) {
  job.exhausted(info, error);
};

template <typename Job>
concept StaticOnExpired = requires(const JobInfo& info) {
  Job::on_expired(info);
};
template <typename Job>
concept HasOnExpired = StaticOnExpired<Job> || requires(Job job, const JobInfo& info) {
  job.on_expired(info);
};

// Calls the hook, with the job's information if it has a parameter for that.
template <typename Job>
decltype(auto) call_retry_in(Job& job, int count, const std::exception& error, const JobInfo& info) {
  if constexpr (requires { job.retry_in(count, error, info); }) {
    return job.retry_in(count, error, info);
  } else {
    return job.retry_in(count, error);
  }
}
template <typename Job>
decltype(auto) call_static_retry_in(int count, const std::exception& error, const JobInfo& info) {
  if constexpr (requires { Job::retry_in(count, error, info); }) {
    return Job::retry_in(count, error, info);
  } else {
    return Job::retry_in(count, error);
  }
}

template <typename Answer>
inline constexpr bool answers_exhaustion =
    std::is_void_v<Answer> || std::is_same_v<Answer, Discard> || std::is_same_v<Answer, RetryDecision>;

// Refuses a hook that cannot be called, since it would never run.
template <typename Job>
constexpr bool check_hooks() {
  static_assert(
      HasRetryIn<Job> || !has_member_retry_in<Job>(),
      "brood: retry_in takes (int count, const std::exception& error), or that and (..., const brood::JobInfo& "
      "job), and is public");
  static_assert(HasExhausted<Job> || !has_member_exhausted<Job>(),
                "brood: exhausted takes (const brood::JobInfo& job, const std::exception& error), and is public");
  static_assert(HasOnExpired<Job> || !has_member_on_expired<Job>(),
                "brood: on_expired takes (const brood::JobInfo& job), and is public");
  if constexpr (HasOnExpired<Job>)
    static_assert(std::is_void_v<decltype(std::declval<Job&>().on_expired(std::declval<const JobInfo&>()))>,
                  "brood: on_expired returns void");
  using Error = const std::exception&;
  if constexpr (HasRetryIn<Job>)
    static_assert(std::is_convertible_v<decltype(call_retry_in(std::declval<Job&>(), 1, std::declval<Error>(),
                                                               std::declval<const JobInfo&>())),
                                        RetryDecision>,
                  "brood: retry_in returns a duration, brood::discard, brood::kill, brood::usual_delay or, of these, a "
                  "brood::RetryDecision");
  if constexpr (HasExhausted<Job>)
    static_assert(answers_exhaustion<std::remove_cvref_t<decltype(std::declval<Job&>().exhausted(
                      std::declval<const JobInfo&>(), std::declval<Error>()))>>,
                  "brood: exhausted returns void, brood::discard or a brood::RetryDecision");
  return true;
}

template <typename Job>
void ask_retry_in(const abi::Call* call, const abi::Failure* failure, std::int64_t count, abi::Answer* answer) {
  answer->kind = abi::answer_none;
  try {
    const JobInfo info = job_info(*call, *failure);
    with_error(*failure, [&](const std::exception& error) {
      if constexpr (StaticRetryIn<Job>) {
        set_answer(*answer, call_static_retry_in<Job>(static_cast<int>(count), error, info));
      } else {
        Job job = read_arguments<Job>(wire_name<Job>(), view_of(call->args));
        set_answer(*answer, call_retry_in(job, static_cast<int>(count), error, info));
      }
    });
  } catch (...) {
    answer_with_thrown(*answer);
  }
}

template <typename Hook>
void call_exhausted(abi::Answer& answer, Hook hook) {
  if constexpr (std::is_void_v<decltype(hook())>) {
    hook();
  } else {
    set_answer(answer, hook());
  }
}

template <typename Job>
void ask_exhausted(const abi::Call* call, const abi::Failure* failure, abi::Answer* answer) {
  answer->kind = abi::answer_none;
  try {
    const JobInfo info = job_info(*call, *failure);
    with_error(*failure, [&](const std::exception& error) {
      if constexpr (StaticExhausted<Job>) {
        call_exhausted(*answer, [&] { return Job::exhausted(info, error); });
      } else {
        Job job = read_arguments<Job>(wire_name<Job>(), view_of(call->args));
        call_exhausted(*answer, [&] { return job.exhausted(info, error); });
      }
    });
  } catch (...) {
    answer_with_thrown(*answer);
  }
}

template <typename Job>
void tell_expired(const abi::Call* call, abi::Answer* answer) {
  answer->kind = abi::answer_none;
  try {
    const JobInfo info{
        view_of(call->job_class), view_of(call->jid), view_of(call->queue), view_of(call->payload), {}, {}};
    if constexpr (StaticOnExpired<Job>) {
      Job::on_expired(info);
    } else {
      Job job = read_arguments<Job>(wire_name<Job>(), view_of(call->args));
      job.on_expired(info);
    }
  } catch (...) {
    answer_with_thrown(*answer);
  }
}

constexpr std::uint32_t retry_kind(const YesNoOrCount& retry) {
  if (retry.kind() == YesNoOrCount::Kind::yes) return abi::retry_yes;
  return retry.kind() == YesNoOrCount::Kind::no ? abi::retry_no : abi::retry_count;
}

constexpr std::uint64_t threads_kind(const std::optional<LeftThreads>& threads) {
  if (!threads) return abi::threads_as_configured;
  return *threads == LeftThreads::allow ? abi::threads_allow : abi::threads_replace;
}

template <typename Job>
constexpr abi::JobClass describe_job() {
  static_assert(check_job<Job>() && check_hooks<Job>());
  abi::JobClass job_class{};
  job_class.size = sizeof job_class;
  job_class.name = {wire_name<Job>().data(), wire_name<Job>().size()};
  job_class.retry_kind = retry_kind(options_of<Job>().retry);
  job_class.retry_count = options_of<Job>().retry.count();
  job_class.timeout_ms = options_of<Job>().timeout.count();
  job_class.perform = &perform_job<Job>;
  job_class.isolation =
      options_of<Job>().isolation == Isolation::process ? abi::isolation_process : abi::isolation_worker;
  job_class.threads = threads_kind(options_of<Job>().threads);
  job_class.check_arguments = &check_arguments<Job>;
  job_class.encrypts = options_of<Job>().encrypt ? 1 : 0;
  job_class.describe = &describe_class<Job>;
  if constexpr (HasRetryIn<Job>) job_class.retry_in = &ask_retry_in<Job>;
  if constexpr (HasExhausted<Job>) job_class.exhausted = &ask_exhausted<Job>;
  if constexpr (HasOnExpired<Job>) job_class.on_expired = &tell_expired<Job>;
  return job_class;
}

#if defined(__clang__)
inline constexpr char built_with[] = "clang " __clang_version__;
#else
inline constexpr char built_with[] = "g++ " __VERSION__;
#endif

// Returns the table of a library.  A library without jobs has only middleware and handlers.
template <typename... Jobs>
const abi::Library* job_library() {
  static constexpr std::array<abi::JobClass, sizeof...(Jobs)> jobs{describe_job<Jobs>()...};
  static constexpr auto pointers = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<const abi::JobClass*, sizeof...(Jobs)>{&jobs[I]...};
  }
  (std::index_sequence_for<Jobs...>{});
  static constexpr std::array<JobBody, sizeof...(Jobs)> bodies{JobBody{wire_name<Jobs>(), &run_job<Jobs>}...};
  static constexpr abi::Library library{abi::version,        sizeof(abi::Library), {built_with, sizeof built_with - 1},
                                        sizeof...(Jobs),     pointers.data(),      &set_up,
                                        &registered,         &run_middleware,      &run_error_handlers,
                                        &run_death_handlers, &run_event_handlers,  &periodic_jobs};
  own_bodies() = {bodies.data(), bodies.size()};
  return &library;
}

template <typename... Jobs>
const abi::Library* library_of_jobs() {
  static_assert(sizeof...(Jobs) > 0, "brood: BROOD_JOBS names no job; a library without jobs uses BROOD_MIDDLEWARE()");
  return job_library<Jobs...>();
}

}  // namespace brood::detail
#pragma GCC visibility pop
