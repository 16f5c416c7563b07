#pragma once

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <brood/abi.hpp>
#include <brood/detail/write_arguments.hpp>
#include <brood/json.hpp>
#include <brood/report.hpp>

namespace brood {

// The importance of a log line.  `[log] level` sets the least level that is written.
enum class LogLevel { debug, info, warn, error };

// The present attempt, for the code of its job, and requests to the worker.  It is valid only during perform().
class Context {
 public:
  // The code of BROOD_JOBS makes one for each run.
  explicit Context(const abi::Call& call) : call_(&call) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  std::string_view jid() const { return view(call_->jid); }              // the same in every attempt
  std::string_view job_class() const { return view(call_->job_class); }  // as in the payload
  std::string_view queue() const { return view(call_->queue); }          // the queue that it was fetched from
  std::string_view payload() const { return view(call_->payload); }      // the job's whole JSON text
  // The worker's capsule; "default" if no capsules are configured, empty in `brood perform`.
  std::string_view capsule() const { return view(call_->capsule); }

  // The id of the batch that counts this job (<brood/batch.hpp>); empty: the job is in none.
  std::string_view bid() const { return abi::has(*call_, &abi::Call::bid) ? view(call_->bid) : std::string_view(); }
  // Returns true once that batch was cancelled.  A job that runs then goes on, unless it ends by itself.  It asks Redis
  // at most every 5 ms, and returns false while Redis is away.
  bool batch_cancelled() const {
    return abi::has(*call_, &abi::Call::batch_cancelled) && call_->batch_cancelled != nullptr &&
           call_->batch_cancelled(call_->host) != 0;
  }

  int retry_count() const { return static_cast<int>(call_->earlier_attempts); }  // earlier attempts that failed
  int attempt() const { return retry_count() + 1; }                              // 1: the first

  // Returns true once the job should end soon because of a stop, a deploy, or the job's timeout.  Then finish soon, or
  // save the progress and throw Interrupted.  A job that goes on is killed: `timeout_grace` after its timeout, or at
  // the end of `shutdown_timeout`.
  bool stopping() const { return call_->stopping != nullptr && call_->stopping(call_->host) != 0; }

  // Returns the time until stopping() becomes true because of the job's timeout; nullopt if the job has no timeout.
  std::optional<std::chrono::milliseconds> time_left() const {
    if (!knows_deadlines() || call_->time_left_ms(call_->host) < 0) return std::nullopt;
    return std::chrono::milliseconds(call_->time_left_ms(call_->host));
  }

  // Moves the job's deadline to `time_left` from now.  So a job that makes progress needs no timeout for the worst
  // case.  A job without deadline gets one.  A negative time counts as zero, more than 365 days as 365 days.  Does
  // nothing once the worker was ordered to end because of this job.
  void extend_timeout(std::chrono::milliseconds time_left) const {
    if (knows_deadlines()) call_->set_time_left(call_->host, time_left.count());
  }

  // Writes one event into the worker's log, with the job's class and jid.  `message` is cut to 10,000 bytes.
  void log(LogLevel level, std::string_view message) const {
    if (call_->log != nullptr)
      call_->log(call_->host, static_cast<std::uint32_t>(level), {message.data(), message.size()});
  }
  void log(std::string_view message) const { log(LogLevel::info, message); }

  // Adds `name=value` to each further log line of this run, also to the line that reports its end.  A name has 1 to 64
  // characters A-Z a-z 0-9 _ . -, and must differ from the names that these lines have already, such as jid.  A value
  // is cut to 1,000 bytes.  The last value of a name counts.  An invalid name, and each name beyond 16, is ignored.
  void log_with(std::string_view name, std::string_view value) const {
    if (abi::has(*call_, &abi::Call::log_with) && call_->log_with != nullptr)
      call_->log_with(call_->host, {name.data(), name.size()}, {value.data(), value.size()});
  }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void log_with(std::string_view name, Number value) const {
    if constexpr (std::is_same_v<Number, bool>) {
      log_with(name, std::string_view(value ? "true" : "false"));
    } else {
      char text[64];
      log_with(name,
               std::string_view(text, static_cast<std::size_t>(std::to_chars(text, text + 64, value).ptr - text)));
    }
  }

  // Sets the result in the job's report, for jobs with `keep_result` and for steps of a flow; others drop it.  The
  // value may be of any type that a field may have.  The last result counts, and only if the job succeeds.  Throws
  // std::length_error for more than 1 MB of JSON, and std::invalid_argument for a value that JSON does not have.
  template <typename Value>
  void result(const Value& value) const {
    std::string json;
    if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      detail::write_string(json, value);
    } else {
      static_assert(detail::fits_json<Value>(), "brood: a result is of a type that a field of a job may have");
      if constexpr (detail::fits_json<Value>()) detail::write_value(json, value);
    }
    if (json.size() > abi::longest_result)
      throw std::length_error("the result has " + std::to_string(json.size()) + " bytes of JSON, of at most " +
                              std::to_string(abi::longest_result) +
                              ": store it elsewhere, and leave where it is as the result");
    if (abi::has(*call_, &abi::Call::result) && call_->result != nullptr)
      call_->result(call_->host, {json.data(), json.size()});
  }

  // Returns the result that a step of this job's flow has set by result() (<brood/flow.hpp>).  nullopt: the step has
  // set none, has not succeeded, does not exist, or Redis is away.  It asks Redis.
  std::optional<Json> result_of(std::string_view step) const {
    abi::Text json{};
    if (!abi::has(*call_, &abi::Call::result_of) || call_->result_of == nullptr ||
        call_->result_of(call_->host, {step.data(), step.size()}, &json) == 0)
      return std::nullopt;
    return Json{std::string(view(json))};
  }
  // The same as a type that a field of a job may have.  Throws std::invalid_argument if it does not fit.
  template <typename Type>
  std::optional<Type> result_of(std::string_view step) const {
    const std::optional<Json> json = result_of(step);
    if (!json) return std::nullopt;
    JobReport report;
    report.jid = "of the step " + std::string(step);
    report.result = *json;
    return report.result_as<Type>();
  }

  // Reports the progress of the job: `done` of `total`, which is 0 if it is unknown.  `brood status`, `brood show` and
  // the web page show it.  It only writes to memory, so it may be called often.  The note is cut to 100 bytes.
  void progress(std::int64_t done, std::int64_t total, std::string_view note = {}) const {
    if (abi::has(*call_, &abi::Call::progress) && call_->progress != nullptr)
      call_->progress(call_->host, done, total, {note.data(), note.size()});
  }

 private:
  bool knows_deadlines() const { return call_->time_left_ms != nullptr && call_->set_time_left != nullptr; }
  static std::string_view view(const abi::Text& text) { return {text.data == nullptr ? "" : text.data, text.size}; }
  const abi::Call* call_;
};

// A failed job, for its `exhausted` hook, for error and death handlers, and at Event::crash; or an expired job, for its
// `on_expired` hook.  It is valid only during the call.
struct JobInfo {
  std::string_view job_class, jid;        // as in the payload
  std::string_view queue;                 // the queue that it was fetched from
  std::string_view payload;               // the job's whole JSON text
  std::string_view error_class, message;  // why its last attempt failed; empty if the job has expired
  bool crashed = false;                   // the attempt has ended its worker
};

}  // namespace brood
