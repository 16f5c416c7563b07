#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/abi.hpp>

#include "shared/base/clock.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/scoreboard/outcome_notes.hpp"
#include "shared/store/iteration.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "worker/isolation/job_services.hpp"
#include "worker/job/perform.hpp"

namespace brood {

// The messages between a worker and the process of one job.  The worker begins with an order.  Then the job's process
// asks and the worker answers, until the process reports how the job ended.  Code of the job may have written what the
// worker reads: every count and size is bounded, and an invalid message throws BadMessage.  Pure.

// An invalid message; what() is the reason, for people.
class BadMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class MessageKind : std::uint32_t {
  order = 1,  // from the worker: perform this
  // From the job's process.  An answer has the same kind as the question.
  load_iteration,       // asks for the state of an iterable job
  save_iteration,       // saves the state, and asks whether the job was cancelled
  ask_failure_rule,     // asks a failed job's rule of `retry_for`, and the time by Redis
  take_limits,          // asks for these limits
  give_back_limits,     // gives these limits back
  ask_batch_cancelled,  // asks whether its batch was cancelled
  ask_step_result,      // asks for the result of a step of its flow; the answer is empty if there is none
  note_progress,        // reports the progress
  end,                  // reports how the job ended
};
inline constexpr std::size_t longest_step_asked = 100;
inline constexpr MessageKind last_message_kind = MessageKind::end;

struct Message {
  MessageKind kind;
  std::string body;
};

struct JobOrder {
  int entry = 0;  // of the batch
  std::string payload, queue;
  std::string shard;  // of the job, for tell_shard(): the worker may have moved since the forker was made
  SteadyTime started{};
  // Set when the job has failed in an earlier process: then this one only decides its outcome.  Only class and message
  // are set.
  std::optional<Failure> failure = {};
  // The job has expired: only the on_expired hook of its class runs.
  bool expired = false;
};

struct LoadedIteration {
  enum class Kind : std::uint8_t { loaded, away, none } kind = Kind::loaded;
  IterationState state = {};  // when loaded
  std::string why = {};       // when none: why there is no state
};

struct JobEnd {
  Performed::Kind kind = Performed::Kind::succeeded;
  bool iteration_ended = false;
  std::chrono::milliseconds delay{0};                           // when interrupted, or over a limit
  std::string error_class = {}, message = {};                   // when failed, or over a limit, for the log
  std::vector<std::string> backtrace = {};                      // when failed, for the report of the failure
  OutcomeNote outcome = {};                                     // when failed: how it is settled
  std::string result = {};                                      // of the job, as JSON; empty: none
  std::vector<std::pair<std::string, std::string>> facts = {};  // for the job's lines in the log
};

std::string encode(const JobOrder& order);
std::string encode(const LoadedIteration& loaded);
std::string encode(const IterationState& state);
std::string encode(const FailureRule& rule);
std::string encode(const JobEnd& end);
std::string encode_cancelled(bool cancelled);
std::string encode(const WantedLimits& wanted);
std::string encode(const LimitResult& result);
std::string encode(const std::vector<LimitUse>& uses);
std::string encode(const JobProgress& progress);

// Each throws BadMessage.
JobOrder read_order(std::string_view body);
LoadedIteration read_loaded(std::string_view body);
IterationState read_saved(std::string_view body);
FailureRule read_failure_rule(std::string_view body);
bool read_cancelled_answer(std::string_view body);
WantedLimits read_wanted_limits(std::string_view body);  // each is valid by why_no_limit()
LimitResult read_limit_result(std::string_view body);
std::vector<LimitUse> read_limit_uses(std::string_view body);
JobProgress read_job_progress(std::string_view body);
// The end of `job`, fetched from `queue`.  Throws BadMessage if the outcome names another job.
JobEnd read_end(std::string_view body, const Payload& job, std::string_view queue);

// The bytes that are sent: kind and size, then the body.
std::string framed(MessageKind kind, std::string_view body);

// Finds the messages in a stream of bytes.
class MessageReader {
 public:
  // Reads from a job's process, whose end may be no larger than `longest_end`.
  static MessageReader of_job(std::size_t longest_end) { return MessageReader(longest_end); }
  static MessageReader of_worker() { return MessageReader(std::nullopt); }

  void add(std::string_view bytes) { bytes_.append(bytes); }
  // nullopt: the next one is not whole yet.  Throws BadMessage.
  std::optional<Message> next();

 private:
  explicit MessageReader(std::optional<std::size_t> longest_end) : longest_end_(longest_end) {}
  std::size_t longest_body(MessageKind kind) const;

  std::optional<std::size_t> longest_end_;
  std::string bytes_;
};

// How many bytes an end may have besides its job's payload: a result, and a megabyte for all else.
inline constexpr std::size_t longest_end_beside_payload = abi::longest_result + (1 << 20);
// How many bytes the state of an iterable job may have besides its cursor, which has at most abi::longest_cursor.  The
// worker holds the state in memory, however much memory the job may use.
inline constexpr std::size_t longest_state_beside_cursor = 1 << 10;
// A message may be as large as a value of Redis.
inline constexpr std::size_t longest_message = std::size_t{513} << 20;

}  // namespace brood
