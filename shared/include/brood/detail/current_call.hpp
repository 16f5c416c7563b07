#pragma once

#include <string_view>

#include <brood/abi.hpp>

#pragma GCC visibility push(hidden)
namespace brood::detail {

// Returns the attempt that this thread runs, for requests to the worker without a Context.  Null: it runs none.
inline const abi::Call*& current_call() {
  static thread_local const abi::Call* call = nullptr;
  return call;
}

// Returns the payload of the job that this thread runs; empty: it runs none.
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
