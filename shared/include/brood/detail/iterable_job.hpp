#pragma once

#include <chrono>
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include <brood/detail/field_types.hpp>
#include <brood/detail/named_member.hpp>
#include <brood/detail/seconds.hpp>
#include <brood/iteration.hpp>

// The check whether a job class is iterable, and the refusal of invalid ones.
#pragma GCC visibility push(hidden)
namespace brood::detail {

// Whether a member is a function, since a field may have the name of one.
template <typename Pointer>
inline constexpr bool is_function_pointer =
    std::is_member_function_pointer_v<Pointer> || std::is_function_v<std::remove_pointer_t<Pointer>>;

template <typename Job>
constexpr bool has_items() {
  if constexpr (requires { &Job::items; }) return is_function_pointer<decltype(&Job::items)>;
  return false;
}
template <typename Job>
constexpr bool has_each() {
  if constexpr (requires { &Job::each; }) return is_function_pointer<decltype(&Job::each)>;
  return false;
}

template <typename Job>
concept Performs = requires(Job job, Context& context) {
  job.perform(context);
}
|| requires(Job job) { job.perform(); };

// Whether the perform() that would be called returns void; true if there is none.
template <typename Job>
constexpr bool perform_returns_nothing() {
  if constexpr (requires(Job job, Context & context) { job.perform(context); }) {
    return std::is_void_v<decltype(std::declval<Job&>().perform(std::declval<Context&>()))>;
  } else if constexpr (requires(Job job) { job.perform(); }) {
    return std::is_void_v<decltype(std::declval<Job&>().perform())>;
  }
  return true;
}

template <typename Job>
concept Iterable = has_items<Job>() && has_each<Job>() && !Performs<Job>;

template <typename Function>
struct Returned {
  using Type = void;
};
template <typename Result, typename... Parameters>
struct Returned<Result (*)(Parameters...)> {
  using Type = Result;
};
template <typename Result, typename... Parameters>
struct Returned<Result (*)(Parameters...) noexcept> {
  using Type = Result;
};
template <typename Job, typename Result, typename... Parameters>
struct Returned<Result (Job::*)(Parameters...)> {
  using Type = Result;
};
template <typename Job, typename Result, typename... Parameters>
struct Returned<Result (Job::*)(Parameters...) noexcept> {
  using Type = Result;
};
template <typename Job, typename Result, typename... Parameters>
struct Returned<Result (Job::*)(Parameters...) const> {
  using Type = Result;
};
template <typename Job, typename Result, typename... Parameters>
struct Returned<Result (Job::*)(Parameters...) const noexcept> {
  using Type = Result;
};

template <typename Job>
using ItemsOf = typename Returned<decltype(&Job::items)>::Type;

template <typename Type>
inline constexpr bool is_items = false;
template <typename Item, typename Cursor>
inline constexpr bool is_items<Items<Item, Cursor>> = true;

// Calls a hook with the parameters that it has.  Returns false if there is none.
#define BROOD_HOOK(name)                                                                             \
  template <typename Job>                                                                            \
  constexpr bool call_##name(Job& job, Iteration& iteration) {                                       \
    if constexpr (requires { job.name(iteration); }) {                                               \
      static_assert(std::is_void_v<decltype(job.name(iteration))>, "brood: " #name " returns void"); \
      job.name(iteration);                                                                           \
      return true;                                                                                   \
    } else if constexpr (requires { job.name(); }) {                                                 \
      static_assert(std::is_void_v<decltype(job.name())>, "brood: " #name " returns void");          \
      job.name();                                                                                    \
      return true;                                                                                   \
    } else {                                                                                         \
      static_assert(!has_member_##name<Job>(),                                                       \
                    "brood: " #name " takes (brood::Iteration&), or nothing, and is public");        \
      return false;                                                                                  \
    }                                                                                                \
  }
BROOD_HOOK(on_start)
BROOD_HOOK(on_resume)
BROOD_HOOK(on_stop)
BROOD_HOOK(on_cancel)
BROOD_HOOK(on_complete)
#undef BROOD_HOOK

// Whether the each() that would be called returns void.  Another check refuses one that cannot be called.
template <typename Job, typename Item>
constexpr bool each_returns_nothing() {
  if constexpr (requires(Job job, Item && item, Iteration & iteration) {
                  job.each(static_cast<Item&&>(item), iteration);
                }) {
    return std::is_void_v<decltype(std::declval<Job&>().each(std::declval<Item>(), std::declval<Iteration&>()))>;
  } else if constexpr (requires(Job job, Item && item) { job.each(static_cast<Item&&>(item)); }) {
    return std::is_void_v<decltype(std::declval<Job&>().each(std::declval<Item>()))>;
  }
  return true;
}

// Does not compile for an invalid iterable job; the message is a sentence.
template <typename Job>
constexpr bool check_iterable() {
  static_assert(is_items<ItemsOf<Job>>,
                "brood: items() of an iterable job returns brood::Items<Item> or brood::Items<Item, Cursor>");
  if constexpr (is_items<ItemsOf<Job>>) {
    using Item = typename ItemsOf<Job>::Item;
    using Cursor = typename ItemsOf<Job>::Cursor;
    static_assert(
        requires(Job job, const std::optional<Cursor>& cursor) { job.items(cursor); },
        "brood: items() of an iterable job takes (std::optional<Cursor> cursor), with the Cursor of its brood::Items");
    static_assert(fits_json<Cursor>(),
                  "brood: this cursor cannot be written as JSON; use an integer, std::string or any type of a field");
    static_assert(
        requires(Job job, Item && item, Iteration & iteration) { job.each(static_cast<Item&&>(item), iteration); } ||
            requires(Job job, Item && item) { job.each(static_cast<Item&&>(item)); },
        "brood: each() of an iterable job takes (const Item&, brood::Iteration&) or (const Item&), with the Item of "
        "its "
        "brood::Items");
    static_assert(each_returns_nothing<Job, Item>(),
                  "brood: each() of an iterable job returns void: any other result would be ignored, and the work of "
                  "a coroutine would never be done");
  }
  if constexpr (requires { Job::flush_interval; })
    static_assert(is_duration<std::remove_cvref_t<decltype(Job::flush_interval)>>,
                  "brood: flush_interval is a duration, such as `static constexpr auto flush_interval = 1s;`");
  if constexpr (requires { Job::max_iteration_runtime; })
    static_assert(is_duration<std::remove_cvref_t<decltype(Job::max_iteration_runtime)>>,
                  "brood: max_iteration_runtime is a duration, such as `static constexpr auto max_iteration_runtime = "
                  "10min;`");
  return true;
}

}  // namespace brood::detail
#pragma GCC visibility pop
