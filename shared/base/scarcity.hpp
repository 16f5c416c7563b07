#pragma once

#include <cerrno>
#include <exception>
#include <new>
#include <system_error>

namespace brood {

// Whether a system call with this error lacked memory, processes or descriptors, and may succeed later.
inline bool is_scarcity(int error) {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE || error == ENOBUFS;
}

inline bool is_scarcity(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  const auto* const failed = dynamic_cast<const std::system_error*>(&error);
  return failed != nullptr && is_scarcity(failed->code().value());
}

}  // namespace brood
