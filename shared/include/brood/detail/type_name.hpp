#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace brood {
namespace [[gnu::visibility("hidden")]] detail {

template <typename Type>
consteval std::string_view spelled_type() {
  // g++: "... spelled_type() [with Type = Images::Resize; std::string_view = ...]"; clang: "... [Type =
  // Images::Resize]"
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

// What the payload's `class` says: `job_class` when the struct has one, else the type's own name.
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

}  // namespace gnu::visibility("hidden")]]detail
}  // namespace brood
