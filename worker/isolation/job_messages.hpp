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

// The messages between a worker and the process of one job.  The worker begins with an order; then the job's
// process asks and the worker answers, until the process reports how the job ended.  The worker reads what code of a
// job may have written: every count and size is bounded, and a message that breaks the rules throws BadMessage.  Pure.

// what() tells people what is wrong with the message.
class BadMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class MessageKind : std::uint32_t {
  order = 1,            // worker: perform this
  load_iteration,       // job's process: how far has this job come?  The answer is of the same kind, as all are
  save_iteration,       // it has come so far; was it cancelled?
  ask_failure_rule,     // it has failed: what rule of `retry_for` holds, and what time is it by Redis?
  take_limits,          // may it go on within these limits?
  give_back_limits,     // it is done with these
  ask_batch_cancelled,  // was its batch cancelled?
  ask_step_result,      // what has this step of its flow left?  Empty: nothing
  note_progress,        // it is so far
  end,                  // this came of the job
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
  std::string shard;  // that the job came from, for tell_shard(): the worker may have moved since it was copied
  SteadyTime started{};
  // Set when the job has failed in an earlier process: this one only decides what becomes of it.  Only class and
  // message are set.
  std::optional<Failure> failure = {};
  // The job came too late to begin: only the on_expired hook of its class runs.
  bool expired = false;
};

struct LoadedIteration {
  enum class Kind : std::uint8_t { loaded, away, none } kind = Kind::loaded;
  IterationState state = {};  // when loaded
  std::string why = {};       // when there is none
};

struct JobEnd {
  Performed::Kind kind = Performed::Kind::succeeded;
  bool iteration_ended = false;
  std::chrono::milliseconds delay{0};                           // when interrupted, or over a limit
  std::string error_class = {}, message = {};                   // when failed, or over a limit, for the log
  std::vector<std::string> backtrace = {};                      // when failed, for the report of the failure
  OutcomeNote outcome = {};                                     // when failed: what becomes of it
  std::string result = {};                                      // that it leaves, JSON; empty: none
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
WantedLimits read_wanted_limits(std::string_view body);  // each is a limit, by why_no_limit()
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

// How many bytes an end may have beside its job's payload: a result, and as much for all else.
inline constexpr std::size_t longest_end_beside_payload = abi::longest_result + (1 << 20);
// The state of an iterable job, which the worker holds in memory, whatever memory the job may use, is a cursor of
// abi::longest_cursor at most and this much.
inline constexpr std::size_t longest_state_beside_cursor = 1 << 10;
// As large as a value of Redis.
inline constexpr std::size_t longest_message = std::size_t{513} << 20;

}  // namespace brood
