#pragma once

#include <cxxabi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include <brood/abi.hpp>
#include <brood/error.hpp>

// The border of a job library: these functions turn exceptions of an author's code into plain texts.
#pragma GCC visibility push(hidden)
namespace brood::detail {

inline abi::Text text_of(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view_of(const abi::Text& text) { return {text.data == nullptr ? "" : text.data, text.size}; }

inline std::string readable_type(const std::type_info* type) {
  if (type == nullptr) return "unknown type";
  int status = 0;
  char* demangled = ::abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  std::string name = demangled != nullptr ? demangled : type->name();
  std::free(demangled);
  return name;
}

// The last exception in this library on this thread.  A Result points to its texts, and the hooks that are called
// afterwards get the exception itself.
struct Thrown {
  std::exception_ptr exception;
  std::string error_class, message;
};

inline Thrown& last_thrown() {
  static thread_local Thrown thrown;
  return thrown;
}

// Returns the address of the exception, which stays the same when it is caught and thrown again.  In every C++ runtime
// an exception_ptr is that address.
inline const void* object_of(const std::exception_ptr& exception) {
  static_assert(sizeof exception == sizeof(void*));
  const void* object = nullptr;
  std::memcpy(&object, &exception, sizeof object);
  return object;
}

// It is thrown when the code inside of a middleware has ended in a way that only the worker understands.
struct EndedInside {
  std::uint32_t kind;  // of abi::Result
};

// std::throw_with_nested(Error()) throws an unnamed class derived from Error.
inline std::string without_nesting(std::string type) {
  for (const std::string_view nesting : {"std::_Nested_exception<", "std::__1::__nested<"}) {
    if (type.starts_with(nesting) && type.ends_with('>'))
      return type.substr(nesting.size(), type.size() - nesting.size() - 1);
  }
  return type;
}

// These describe the exception that is being handled; call them inside a catch block.
inline std::string type_in_flight() { return without_nesting(readable_type(::abi::__cxa_current_exception_type())); }
inline Thrown described() { return {std::current_exception(), type_in_flight(), {}}; }

// Adds the exceptions nested in `error` by std::throw_with_nested, from the outside in.
inline void add_nested(std::string& message, const std::exception& error, int depth = 8) {
  const auto* const nested = dynamic_cast<const std::nested_exception*>(&error);
  if (nested == nullptr || nested->nested_ptr() == nullptr || depth == 0) return;
  try {
    nested->rethrow_nested();
  } catch (const std::exception& inner) {
    message += "; caused by " + type_in_flight() + ": " + (inner.what() == nullptr ? "" : inner.what());
    add_nested(message, inner, depth - 1);
  } catch (...) {
    message += "; caused by an exception of type " + type_in_flight();
  }
}

inline Thrown described(const std::exception& error) {
  Thrown thrown = described();
  if (const char* what = error.what(); what != nullptr) thrown.message = what;
  add_nested(thrown.message, error);
  return thrown;
}
inline Thrown described(const ArgumentError& error) {
  return {std::current_exception(), "ArgumentError", error.what()};  // the name of Ruby's class
}
inline Thrown described(const JobFailure& error) {
  Thrown thrown = described(static_cast<const std::exception&>(error));
  if (!error.error_class().empty()) thrown.error_class = error.error_class();
  return thrown;
}

// Describes an exception of any type, which it throws again to find the type.
inline Thrown describe_thrown() {
  Thrown thrown = described();
  try {
    throw;
  } catch (const ArgumentError& error) {
    return described(error);
  } catch (const JobFailure& error) {
    return described(error);
  } catch (const std::exception& error) {
    return described(error);
  } catch (const std::string& text) {
    thrown.message = text;
  } catch (const char* text) {
    if (text != nullptr) thrown.message = text;
  } catch (...) {
    thrown.message = "an exception of type " + thrown.error_class + ", which is no std::exception";
  }
  return thrown;
}

inline void tell_thrown(Thrown thrown, abi::Result& result) {
  last_thrown() = std::move(thrown);
  result.error_class = text_of(last_thrown().error_class);
  result.message = text_of(last_thrown().message);
  if (abi::has(result, &abi::Result::thrown)) result.thrown = object_of(last_thrown().exception);
}

inline void tell_over_limit(const OverLimit& error, abi::Result& result) {
  tell_thrown(described(error), result);
  if (!abi::has(result, &abi::Result::deferral_ms)) return;
  result.most_deferrals = error.reschedules();
  result.deferral_ms = error.in() ? std::max<std::int64_t>(error.in()->count(), 0) : -1;
}

// Runs `work()` and writes its end into `result`.  It throws no exception.
template <typename Work>
void answer_for(Work work, abi::Result& result) {
  result.kind = abi::result_failed;
  last_thrown() = {};
  try {
    work();
    result.kind = abi::result_succeeded;
  } catch (const Interrupted& interrupted) {
    result.kind = abi::result_interrupted;
    if (abi::has(result, &abi::Result::delay_ms)) result.delay_ms = interrupted.in.count();
  } catch (const EndedInside& end) {
    result.kind = end.kind;
  } catch (const ArgumentError& error) {
    tell_thrown(described(error), result);
  } catch (const JobFailure& error) {
    tell_thrown(described(error), result);
  } catch (const OverLimit& error) {
    tell_over_limit(error, result);
  } catch (const std::exception& error) {
    tell_thrown(described(error), result);
  } catch (...) {
    tell_thrown(describe_thrown(), result);
  }
}

// Calls `use(error)` with the exception of `failure`.  It is the exception itself if that is the last one of this
// library on this thread, else a JobCrashed or JobFailure with its message.
template <typename Use>
void with_error(const abi::Failure& failure, Use use) {
  const std::string error_class(view_of(failure.error_class)), message(view_of(failure.message));
  if (failure.crashed != 0) return use(JobCrashed(error_class, message));
  const Thrown thrown = last_thrown();
  const bool live = thrown.exception != nullptr && thrown.error_class == error_class;
  // `use` is called outside of the catch blocks, since an exception of the hook must not be caught here.
  const std::exception* error = nullptr;
  try {
    if (live) std::rethrow_exception(thrown.exception);
  } catch (const std::exception& caught) {
    error = &caught;  // valid as long as `thrown` holds the exception
  } catch (...) {
    error = nullptr;
  }
  if (error != nullptr) return use(*error);
  use(JobFailure(error_class, message));
}

}  // namespace brood::detail
#pragma GCC visibility pop
