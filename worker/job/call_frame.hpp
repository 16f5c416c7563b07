#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <brood/abi.hpp>

#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "worker/job/job_host.hpp"

namespace brood {

// One job as a library sees it.  The job, the name of the queue and the host must outlive this object.
class CallFrame {
 public:
  // `host` is null for a hook or a handler, which has no services of the worker.
  CallFrame(const Payload& job, std::string_view queue, const JobHost* host);
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  const abi::Call* call() const { return &call_; }
  const std::string& job_class() const { return job_.code_class(); }
  // Why the arguments of an Active Job cannot be unwrapped; nullopt: they can, or it is no Active Job.
  const std::optional<std::string>& unfit() const { return unfit_; }
  const std::string& jid() const { return job_.jid(); }

 private:
  void unwrap();
  void offer_iterations();
  void offer_limits();
  bool stopping() const;
  std::int64_t time_left_ms() const;
  void set_time_left(std::int64_t ms) const;
  void write(std::uint32_t level, const abi::Text& message) const;
  void log_with(const abi::Text& name, const abi::Text& value) const;
  void keep_result(const abi::Text& json) const;
  void note_progress(std::int64_t done, std::int64_t total, const abi::Text& note) const;
  static const IterationHost& iterations_of(const void* frame);
  std::uint32_t load_iteration(abi::IterationState& state) const;
  static int save_iteration(void* frame, const abi::IterationState& state);
  std::uint32_t take_limits(const abi::Limit* const* limits, std::size_t count, std::int64_t wait_ms,
                            abi::LimitRefusal& refusal) const;
  bool result_of(const abi::Text& step, abi::Text& json) const;
  void give_back_limits(const abi::Limit* const* limits, std::size_t count) const;

  const Payload& job_;
  const JobHost* host_;
  std::string bid_;
  Secret unwrapped_;  // the arguments of an Active Job
  std::optional<std::string> unfit_;
  abi::Call call_{};
  abi::Iterations iterations_{};
  abi::Limits limits_{};
  mutable std::string text_;  // the last text that the library has received
};

// One failure as a library sees it.  The failure must outlive this object.
class FailureFrame {
 public:
  explicit FailureFrame(const Failure& failure);
  const abi::Failure* failure() const { return &failure_; }

 private:
  abi::Failure failure_{};
};

}  // namespace brood
