#pragma once

#include <string_view>

#include <brood/abi.hpp>

#pragma GCC visibility push(hidden)
namespace brood::detail {

// The attempt that this thread runs, for requests to the worker without a Context; null: none.
inline const abi::Call*& current_call() {
  static thread_local const abi::Call* call = nullptr;
  return call;
}

// The payload of its job; empty: none.
inline std::string_view current_payload() {
  const abi::Call* const call = current_call();
  return call == nullptr || call->payload.data == nullptr ? std::string_view()
                                                          : std::string_view(call->payload.data, call->payload.size);
}

class CurrentCall {
 public:
  explicit CurrentCall(const abi::Call& call) : before_(current_call()) { current_call() = &call; }
  ~CurrentCall() { current_call() = before_; }
  CurrentCall(const CurrentCall&) = delete;
  CurrentCall& operator=(const CurrentCall&) = delete;

 private:
  const abi::Call* before_;
};

}  // namespace brood::detail
#pragma GCC visibility pop
