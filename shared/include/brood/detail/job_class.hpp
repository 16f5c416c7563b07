#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include <brood/context.hpp>
#include <brood/detail/field_types.hpp>
#include <brood/detail/iterable_job.hpp>
#include <brood/options.hpp>

// The name of a job class in payloads, its options, and the check that it is a job.
#pragma GCC visibility push(hidden)
namespace brood::detail {

template <typename Type>
consteval std::string_view spelled_type() {
  // g++: "... spelled_type() [with Type = Images::Resize; std::string_view = ...]"
  // clang: "... [Type = Images::Resize]"
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("Type = ") + 7;
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}

constexpr bool is_class_name(std::string_view name) {
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != ':') return false;
  }
  return !name.empty() && name.size() <= 255;
}

// Returns the payload's `class`: the struct's `job_class` if it has one, else the type's own name.
template <typename Job>
consteval std::string_view wire_name() {
  if constexpr (requires { Job::job_class; }) {
    static_assert(std::is_convertible_v<decltype(Job::job_class), std::string_view>,
                  "brood: job_class is a `static constexpr std::string_view`");
    return Job::job_class;
  } else {
    return spelled_type<Job>();
  }
}

template <typename Job>
constexpr JobOptions options_of() {
  if constexpr (requires { Job::options; }) {
    static_assert(std::is_same_v<std::remove_cv_t<decltype(Job::options)>, JobOptions>,
                  "brood: `options` is a `static constexpr brood::JobOptions`");
    return Job::options;
  } else {
    return JobOptions{};
  }
}

// Does not compile for a class that is not a job; the message is a sentence.
template <typename Job>
constexpr bool check_job() {
  static_assert(is_class_name(wire_name<Job>()),
                "brood: the type's name is no class name ([A-Za-z0-9_:], at most 255); give the job a "
                "`static constexpr std::string_view job_class`");
  static_assert(Performs<Job> || has_items<Job>() || has_each<Job>(),
                "brood: a job has `void perform(brood::Context&)` or `void perform()`, and it is public; an iterable "
                "one has items() and each(), see <brood/iteration.hpp>");
  static_assert(
      perform_returns_nothing<Job>(),
      "brood: perform() of a job returns void: it fails by throwing, its result would be ignored, and the "
      "work of a coroutine would never be done; throw what went wrong, and wait for a coroutine in perform()");
  static_assert(!Performs<Job> || !(has_items<Job>() && has_each<Job>()),
                "brood: a job has perform(), or else items() and each(), but not all three");
  static_assert(!Iterable<Job> || !has_member_perform<Job>(),
                "brood: perform() of this job cannot be called; an iterable one has none");
  static_assert(Performs<Job> || has_items<Job>() == has_each<Job>(),
                "brood: an iterable job has both items() and each(), see <brood/iteration.hpp>");
  if constexpr (Iterable<Job>) static_assert(check_iterable<Job>());
  return check_fields<Job>();
}

}  // namespace brood::detail
#pragma GCC visibility pop
