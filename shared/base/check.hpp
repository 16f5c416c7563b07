#pragma once

#include <cerrno>
#include <system_error>

namespace brood {

// Returns `result` unless it is the -1 of a failed system call: then throws std::system_error that names the call.
template <typename Result>
Result check(const char* call, Result result) {
  if (result == static_cast<Result>(-1)) throw std::system_error(errno, std::generic_category(), call);
  return result;
}

}  // namespace brood
