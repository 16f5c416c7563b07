#pragma once

#include <type_traits>

// Whether a class has a member of this name, with any parameters and access.  Without this check a hook that cannot be
// called would be ignored silently.
#pragma GCC visibility push(hidden)
namespace brood::detail {

// In a class derived from `Likewise` and from a class with such a member, the name is ambiguous.  A field of that name
// is an argument, and not a hook.
#define BROOD_MEMBER(name)                                           \
  struct Likewise_##name {                                           \
    int name;                                                        \
  };                                                                 \
  template <typename Job>                                            \
  struct Both_##name : Job, Likewise_##name {};                      \
  template <typename Job>                                            \
  constexpr bool has_member_##name() {                               \
    if constexpr (requires { &Job::name; }) {                        \
      return !std::is_member_object_pointer_v<decltype(&Job::name)>; \
    } else if constexpr (std::is_final_v<Job>) {                     \
      return false;                                                  \
    } else {                                                         \
      return !requires { &Both_##name<Job>::name; };                 \
    }                                                                \
  }
BROOD_MEMBER(perform)
BROOD_MEMBER(retry_in)
BROOD_MEMBER(exhausted)
BROOD_MEMBER(on_expired)
BROOD_MEMBER(on_start)
BROOD_MEMBER(on_resume)
BROOD_MEMBER(on_stop)
BROOD_MEMBER(on_cancel)
BROOD_MEMBER(on_complete)
#undef BROOD_MEMBER

}  // namespace brood::detail
#pragma GCC visibility pop
