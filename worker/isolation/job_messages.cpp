#include "worker/isolation/job_messages.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <array>
#include <brood/abi.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/job/expiry.hpp"
#include "shared/job/page_text.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/json/json.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/outcome.hpp"

namespace brood {
namespace {

constexpr std::array changed_by_failures{"retry",     "queue",      "error_message", "error_class",
                                         "failed_at", "retried_at", "retry_count",   "error_backtrace",
                                         "crash",     "expiry",     "overrated"};

std::string without_changes(const Payload& job) {
  std::vector<Payload::Edit> removed;
  for (const char* const key : changed_by_failures) removed.push_back({key, std::nullopt});
  return job.with(removed).text();
}

bool is_page_text(const std::string& text) { return page_text(text) == text; }

bool is_page_backtrace(const std::optional<std::string>& encoded) {
  if (!encoded) return false;
  const auto lines = decode_backtrace(*encoded);
  return lines && std::all_of(lines->begin(), lines->end(), is_page_text);
}

bool may_be_retried_in(const std::optional<std::string>& wanted, const Payload& job, std::string_view queue) {
  const auto retry_queue = job.string("retry_queue");
  return wanted == (retry_queue && !retry_queue->empty() ? *retry_queue : queue);
}

// Whether `retry` of the record may be one that a failure has added to a job without it.
bool may_be_its_retry(const Payload& record, const Payload& job) {
  const bool says_nothing = !job.raw("retry") || job.raw("retry") == "null";
  return says_nothing && (record.raw("retry") == "true" || is_json_integer(record.raw("retry").value_or("")));
}

// Checks the `record` that the process of a failed job wants stored for `job`, which was fetched from `queue`.  Code of
// the job may have written it.  It must be that very job with the members that a failure adds, and these must not be
// markup on a page.  Throws BadMessage.
void check_failed_record(const Payload& record, const Payload& job, std::string_view queue) {
  const auto require = [](bool holds, const char* why) {
    if (!holds) throw BadMessage(why);
  };
  require(record.jid() == job.jid() && record.job_class() == job.job_class(),
          "what is to become of the job is another job");
  require(without_changes(record) == without_changes(job), "what is to become of the job has other members than it");
  const auto is_as_before = [&](const char* key) { return record.raw(key) == job.raw(key); };
  require(is_as_before("queue") || may_be_retried_in(record.string("queue"), job, queue),
          "what is to become of the job goes to another queue");
  require(is_as_before("retry") || may_be_its_retry(record, job), "what is to become of the job has another retry");
  require(is_as_before("retry_count") || record.raw("retry_count") == std::to_string(failure_count(job)),
          "what is to become of the job counts its failures wrongly");
  require(is_as_before("overrated") || !record.raw("overrated"),
          "what is to become of the job counts wrongly how often it was put off");
  require(is_as_before("crash") || !record.raw("crash"), "what is to become of the job has a crash of its own making");
  const auto kept = kept_expiry(job);
  require(is_as_before("expiry") || (kept && record.raw("expiry") == kept->raw),
          "what is to become of the job expires at another time");
  require(is_as_before("error_class") || is_page_text(record.string("error_class").value_or("<")),
          "the error of the job is no name");
  require(is_as_before("error_message") || record.string("error_message"), "the message of the error is no text");
  require(is_as_before("error_backtrace") || !record.raw("error_backtrace") ||
              is_page_backtrace(record.string("error_backtrace")),
          "the stack of the error is none");
  for (const char* const when : {"failed_at", "retried_at"})
    require(is_as_before(when) || record.time(when), "the time of the failure is none");
}

constexpr std::size_t header_size = 2 * sizeof(std::uint64_t);
constexpr std::uint64_t most_facts = 16;   // as the log keeps
constexpr std::uint64_t most_lines = 100;  // of a backtrace
constexpr std::size_t longest_limits = 1 << 16, longest_progress = 1 << 10;

class BodyWriter {
 public:
  BodyWriter& number(std::int64_t n) {
    bytes_.append(reinterpret_cast<const char*>(&n), sizeof n);
    return *this;
  }
  BodyWriter& real(double n) {
    bytes_.append(reinterpret_cast<const char*>(&n), sizeof n);
    return *this;
  }
  BodyWriter& text(std::string_view text) {
    number(static_cast<std::int64_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class BodyReader {
 public:
  explicit BodyReader(std::string_view body) : rest_(body) {}

  std::int64_t number() { return fixed<std::int64_t>(); }
  std::int64_t number(std::int64_t least, std::int64_t most) {
    const std::int64_t n = number();
    if (n < least || n > most) throw BadMessage("a number in it is out of bounds");
    return n;
  }
  bool truth() { return number(0, 1) == 1; }
  double real() {
    const auto n = fixed<double>();
    if (!std::isfinite(n)) throw BadMessage("a number in it is none");
    return n;
  }
  std::string text() {
    const std::int64_t size = number();
    if (size < 0 || static_cast<std::uint64_t>(size) > rest_.size())
      throw BadMessage("a text in it is longer than the message");
    std::string text(rest_.substr(0, static_cast<std::size_t>(size)));
    rest_.remove_prefix(text.size());
    return text;
  }
  void end() const {
    if (!rest_.empty()) throw BadMessage("it is longer than its kind allows");
  }

 private:
  template <typename Type>
  Type fixed() {
    Type value;
    if (rest_.size() < sizeof value) throw BadMessage("it is shorter than its kind needs");
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }

  std::string_view rest_;
};

template <typename Time>
std::int64_t nanoseconds_of(Time time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

void write_state(BodyWriter& body, const IterationState& state) {
  body.number(state.executions).real(state.run_seconds).number(state.cancelled ? 1 : 0);
  body.number(state.cancelled.value_or(0)).text(state.cursor);
}

IterationState read_state(BodyReader& body) {
  IterationState state;
  state.executions = body.number();
  state.run_seconds = body.real();
  const bool cancelled = body.truth();
  const std::int64_t when = body.number();
  if (cancelled) state.cancelled = when;
  state.cursor = body.text();
  return state;
}

// Checks that the outcome is about this job: otherwise this job would be lost.
void check_outcome(const OutcomeNote& note, const Payload& job, std::string_view queue) {
  const std::optional<Outcome> outcome = noted_outcome(note);
  if (!outcome) throw BadMessage("what is to become of the job is nothing that a failure allows");
  if (outcome->leaves_nothing()) return;
  try {
    check_failed_record(Payload::parse(outcome->payload), job, queue);
  } catch (const BadPayload&) {
    throw BadMessage("what is to become of the job is no job");
  }
}

}  // namespace

std::string encode(const JobOrder& order) {
  BodyWriter body;
  body.number(order.entry)
      .number(nanoseconds_of(order.started))
      .text(order.payload)
      .text(order.queue)
      .text(order.shard);
  body.number(order.failure ? 1 : 0);
  if (order.failure) body.text(order.failure->error_class).text(order.failure->message);
  body.number(order.expired ? 1 : 0);
  return body.take();
}

JobOrder read_order(std::string_view text) {
  BodyReader body(text);
  JobOrder order;
  order.entry = static_cast<int>(body.number(0, max_batch_entries - 1));
  order.started = SteadyTime(std::chrono::nanoseconds(body.number()));
  order.payload = body.text();
  order.queue = body.text();
  order.shard = body.text();
  if (body.truth()) {
    order.failure.emplace();
    order.failure->error_class = body.text();
    order.failure->message = body.text();
  }
  order.expired = body.truth();
  body.end();
  return order;
}

std::string encode(const LoadedIteration& loaded) {
  BodyWriter body;
  body.number(static_cast<std::int64_t>(loaded.kind)).text(loaded.why);
  write_state(body, loaded.state);
  return body.take();
}

LoadedIteration read_loaded(std::string_view text) {
  BodyReader body(text);
  LoadedIteration loaded;
  loaded.kind = static_cast<LoadedIteration::Kind>(body.number(0, 2));
  loaded.why = body.text();
  loaded.state = read_state(body);
  body.end();
  return loaded;
}

std::string encode(const IterationState& state) {
  BodyWriter body;
  write_state(body, state);
  return body.take();
}

IterationState read_saved(std::string_view text) {
  BodyReader body(text);
  IterationState state = read_state(body);
  body.end();
  return state;
}

std::string encode(const FailureRule& rule) {
  return BodyWriter().number(static_cast<std::int64_t>(rule.retry_for)).number(nanoseconds_of(rule.now)).take();
}

FailureRule read_failure_rule(std::string_view text) {
  BodyReader body(text);
  FailureRule rule;
  rule.retry_for = static_cast<RetryFor>(body.number(0, static_cast<std::int64_t>(RetryFor::alone)));
  rule.now = WallTime(std::chrono::nanoseconds(body.number()));
  body.end();
  return rule;
}

std::string encode_cancelled(bool cancelled) { return BodyWriter().number(cancelled ? 1 : 0).take(); }

bool read_cancelled_answer(std::string_view text) {
  BodyReader body(text);
  const bool cancelled = body.truth();
  body.end();
  return cancelled;
}

std::string encode(const WantedLimits& wanted) {
  BodyWriter body;
  body.number(wanted.wait.count()).number(static_cast<std::int64_t>(wanted.limits.size()));
  for (const Limit& limit : wanted.limits) {
    body.text(limit.name).number(static_cast<std::int64_t>(limit.kind)).number(limit.amount);
    body.number(limit.interval.count()).number(limit.wanted).number(limit.known_for.count());
    body.number(limit.defined_ago.count());
  }
  return body.take();
}

WantedLimits read_wanted_limits(std::string_view text) {
  BodyReader body(text);
  WantedLimits wanted;
  wanted.wait = std::chrono::milliseconds(body.number(0, longest_wait_for_limits.count()));
  const std::int64_t count = body.number(1, most_limits_together);
  for (std::int64_t i = 0; i < count; ++i) {
    Limit limit;
    limit.name = body.text();
    limit.kind = static_cast<LimitKind>(body.number(0, limit_kinds - 1));
    limit.amount = body.number();
    limit.interval = std::chrono::milliseconds(body.number());
    limit.wanted = body.number();
    limit.known_for = std::chrono::seconds(body.number());
    limit.defined_ago = std::chrono::milliseconds(body.number(0, longest_defined.count()));
    if (!why_no_limit(limit).empty()) throw BadMessage("a limit in it is none");
    wanted.limits.push_back(std::move(limit));
  }
  body.end();
  return wanted;
}

std::string encode(const LimitResult& result) {
  BodyWriter body;
  body.number(static_cast<std::int64_t>(result.kind)).number(static_cast<std::int64_t>(result.which));
  return body.text(result.why).take();
}

LimitResult read_limit_result(std::string_view text) {
  BodyReader body(text);
  LimitResult result;
  result.kind = static_cast<LimitResult::Kind>(body.number(0, static_cast<int>(LimitResult::Kind::refused)));
  result.which = static_cast<std::size_t>(body.number(0, most_limits_together));
  result.why = body.text();
  body.end();
  return result;
}

std::string encode(const std::vector<LimitUse>& uses) {
  BodyWriter body;
  body.number(static_cast<std::int64_t>(uses.size()));
  for (const LimitUse& use : uses)
    body.text(use.name).number(static_cast<std::int64_t>(use.kind)).number(use.difference);
  return body.take();
}

std::vector<LimitUse> read_limit_uses(std::string_view text) {
  BodyReader body(text);
  std::vector<LimitUse> uses;
  const std::int64_t count = body.number(0, most_limits_together);
  for (std::int64_t i = 0; i < count; ++i) {
    LimitUse use;
    use.name = body.text();
    use.kind = static_cast<LimitKind>(body.number(0, limit_kinds - 1));
    use.difference = body.number(-most_of_interval, INT64_MAX);  // a job may have used any number of points
    if (!is_limit_name(use.name)) throw BadMessage("a limit in it is none");
    uses.push_back(std::move(use));
  }
  body.end();
  return uses;
}

std::string encode(const JobProgress& progress) {
  return BodyWriter().number(progress.done).number(progress.total).text(progress.note).take();
}

JobProgress read_job_progress(std::string_view text) {
  BodyReader body(text);
  JobProgress progress;
  progress.done = body.number(0, INT64_MAX);
  progress.total = body.number(0, INT64_MAX);
  progress.note = body.text();
  body.end();
  return progress;
}

std::string encode(const JobEnd& end) {
  BodyWriter body;
  body.number(static_cast<std::int64_t>(end.kind)).number(end.iteration_ended ? 1 : 0).number(end.delay.count());
  body.text(end.error_class).text(end.message);
  const std::size_t lines = std::min<std::size_t>(end.backtrace.size(), most_lines);
  body.number(static_cast<std::int64_t>(lines));
  for (std::size_t i = 0; i < lines; ++i) body.text(end.backtrace[i]);
  body.number(end.outcome.kind).real(end.outcome.score).text(end.outcome.payload);
  body.number(static_cast<std::int64_t>(end.facts.size()));
  for (const auto& [name, value] : end.facts) body.text(name).text(value);
  return body.text(end.result).take();
}

JobEnd read_end(std::string_view text, const Payload& job, std::string_view queue) {
  BodyReader body(text);
  JobEnd end;
  end.kind = static_cast<Performed::Kind>(body.number(0, static_cast<std::int64_t>(Performed::Kind::over_limit)));
  end.iteration_ended = body.truth();
  end.delay = std::chrono::milliseconds(body.number(0, std::chrono::milliseconds(longest_job_delay).count()));
  end.error_class = body.text();
  end.message = body.text();
  const auto lines = static_cast<std::uint64_t>(body.number(0, most_lines));
  for (std::uint64_t i = 0; i < lines; ++i) end.backtrace.push_back(body.text());
  end.outcome.kind = static_cast<std::uint32_t>(body.number(0, UINT32_MAX));
  end.outcome.score = body.real();
  end.outcome.payload = body.text();
  const auto facts = static_cast<std::uint64_t>(body.number(0, most_facts));
  for (std::uint64_t i = 0; i < facts; ++i) {
    std::string name = body.text(), value = body.text();
    end.facts.emplace_back(std::move(name), std::move(value));
  }
  end.result = body.text();
  body.end();
  if (end.result.size() > abi::longest_result || (!end.result.empty() && !is_json(end.result)))
    throw BadMessage("the result of the job is no JSON, or too large");
  if (end.kind == Performed::Kind::failed) check_outcome(end.outcome, job, queue);
  return end;
}

std::string framed(MessageKind kind, std::string_view body) {
  return BodyWriter().number(static_cast<std::int64_t>(kind)).text(body).take();
}

std::size_t MessageReader::longest_body(MessageKind kind) const {
  if (!longest_end_) return longest_message;
  switch (kind) {
    case MessageKind::save_iteration:
      return abi::longest_cursor + longest_state_beside_cursor;
    case MessageKind::load_iteration:
    case MessageKind::ask_failure_rule:
    case MessageKind::ask_batch_cancelled:
      return 0;
    case MessageKind::take_limits:
    case MessageKind::give_back_limits:
      return longest_limits;
    case MessageKind::ask_step_result:
      return longest_step_asked;
    case MessageKind::note_progress:
      return longest_progress;
    case MessageKind::end:
      return *longest_end_;
    case MessageKind::order:
      break;
  }
  throw BadMessage("it is of a kind that only a worker says");
}

std::optional<Message> MessageReader::next() {
  // Judge the first bytes before the header is whole: a job that has written a few bytes into the channel may never
  // write more.
  std::uint64_t begun = 0;
  std::memcpy(&begun, bytes_.data(), std::min(bytes_.size(), sizeof begun));
  if (begun > static_cast<std::uint64_t>(last_message_kind)) throw BadMessage("it is of an unknown kind");
  if (bytes_.size() < header_size) return std::nullopt;
  BodyReader header(bytes_);
  const auto kind = static_cast<MessageKind>(header.number(1, static_cast<std::int64_t>(last_message_kind)));
  const std::int64_t size = header.number();
  if (size < 0 || static_cast<std::uint64_t>(size) > longest_body(kind))
    throw BadMessage("it is larger than its kind allows");
  const std::size_t whole = header_size + static_cast<std::size_t>(size);
  if (bytes_.size() < whole) return std::nullopt;
  Message message{kind, bytes_.substr(header_size, static_cast<std::size_t>(size))};
  bytes_.erase(0, whole);
  return message;
}

}  // namespace brood
