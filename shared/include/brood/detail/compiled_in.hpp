#pragma once

#include <exception>
#include <string_view>
#include <utility>

#include <brood/abi.hpp>
#include <brood/detail/attempt.hpp>

// Job classes that are compiled into a program which performs them itself.
namespace brood::detail {

struct CompiledIn {
  const abi::Library* (*library)();
  std::exception_ptr (*take_thrown)(std::string_view error_class);
};

#pragma GCC visibility push(hidden)

// Removes and returns the exception that the last perform of this thread has kept, if it is of this class; else null.
inline std::exception_ptr take_thrown(std::string_view error_class) {
  Thrown& thrown = last_thrown();
  return thrown.error_class == error_class ? std::exchange(thrown.exception, nullptr) : nullptr;
}

#pragma GCC visibility pop

}  // namespace brood::detail
