#include "worker/perform.hpp"

#include <algorithm>
#include <exception>
#include <new>

#include <brood/abi.hpp>
#include "shared/job/json.hpp"
#include "shared/log.hpp"
#include "worker/job_registry.hpp"
#include "worker/lifecycle.hpp"
#include "worker/middleware.hpp"

namespace brood {
namespace {

// More is as good as for ever, and does not overflow a clock.
constexpr std::chrono::milliseconds longest_timeout = std::chrono::hours(24 * 365);

// As many characters as Sidekiq stores of an error message.
constexpr std::size_t longest_text = 10'000;

abi::Text text_of(std::string_view text) { return {text.data(), text.size()}; }

// A text from the library, whatever it is, as UTF-8.
std::string read_text(const abi::Text& text, std::string_view otherwise) {
  if (text.data == nullptr || text.size == 0) return std::string(otherwise);
  return utf8_prefix(std::string_view(text.data, text.size), longest_text);
}

// One job as the library sees it; lives no longer than the job and the name of the queue.
class CallFrame {
 public:
  CallFrame(const Payload& job, std::string_view queue, const JobHost* host) : job_(job), host_(host) {
    call_.size = sizeof call_;
    call_.job_class = text_of(job.job_class());
    call_.jid = text_of(job.jid());
    call_.queue = text_of(queue);
    call_.args = text_of(job.args());
    call_.payload = text_of(job.text());
    // retry_count is 0 after the first failure.
    const auto retry_count = job.integer("retry_count");
    call_.earlier_attempts = retry_count ? std::clamp<std::int64_t>(*retry_count, 0, 1'000'000'000) + 1 : 0;
    call_.host = this;
    call_.stopping = [](void* frame) { return static_cast<CallFrame*>(frame)->stopping() ? 1 : 0; };
    call_.log = [](void* frame, std::uint32_t level, abi::Text message) {
      static_cast<CallFrame*>(frame)->write(level, message);
    };
    call_.time_left_ms = [](void* frame) { return static_cast<CallFrame*>(frame)->time_left_ms(); };
    call_.set_time_left = [](void* frame, std::int64_t ms) { static_cast<CallFrame*>(frame)->set_time_left(ms); };
    if (host != nullptr) call_.capsule = text_of(host->capsule);
    if (host_ == nullptr || !host_->iterations) return;
    iterations_.size = sizeof iterations_;
    iterations_.max_runtime_ms = host_->iterations->max_runtime.count();
    iterations_.interrupt = [](void* frame) { return iterations_of(frame).interrupt() ? 1 : 0; };
    iterations_.load = [](void* frame, abi::IterationState* state) {
      return static_cast<CallFrame*>(frame)->load_iteration(*state);
    };
    iterations_.save = [](void* frame, const abi::IterationState* state) { return save_iteration(frame, *state); };
    iterations_.end = [](void* frame) { iterations_of(frame).end(); };
    call_.iterations = &iterations_;
  }
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  const abi::Call* call() const { return &call_; }
  const std::string& job_class() const { return job_.job_class(); }
  const std::string& jid() const { return job_.jid(); }

 private:
  bool stopping() const { return host_ != nullptr && host_->stopping && host_->stopping(); }

  std::int64_t time_left_ms() const {
    const auto left = host_ != nullptr && host_->time_left ? host_->time_left() : std::nullopt;
    return left ? std::max<std::int64_t>(left->count(), 0) : -1;
  }
  void set_time_left(std::int64_t ms) const {
    if (host_ == nullptr || !host_->set_time_left) return;
    host_->set_time_left(std::clamp(std::chrono::milliseconds(ms), std::chrono::milliseconds(0), longest_timeout));
  }

  void write(std::uint32_t level, const abi::Text& message) const {
    const auto known = static_cast<log::Level>(std::min<std::uint32_t>(level, abi::log_error));
    if (!log::enabled(known)) return;
    log::write(known, "job_says", {{"job", job_class()}, {"jid", jid()}, {"message", read_text(message, "")}});
  }

  static const IterationHost& iterations_of(const void* frame) {
    return *static_cast<const CallFrame*>(frame)->host_->iterations;
  }

  std::uint32_t load_iteration(abi::IterationState& state) const {
    try {
      const std::optional<IterationState> known = iterations_of(this).load();
      if (!known) return abi::iteration_away;
      text_ = known->cursor;
      state.executions = known->executions;
      state.run_seconds = known->run_seconds;
      state.cursor = text_of(text_);
      state.cancelled = known->cancelled ? 1 : 0;
      return abi::iteration_loaded;
    } catch (const std::exception& error) {
      text_ = error.what();
      state.cursor = text_of(text_);
      return abi::iteration_none;
    }
  }

  // What memory does not allow now is saved later.
  static int save_iteration(void* frame, const abi::IterationState& state) {
    try {
      return iterations_of(frame).save(
                 {.executions = state.executions,
                  .cursor = state.cursor.size == 0 ? std::string() : std::string(state.cursor.data, state.cursor.size),
                  .run_seconds = state.run_seconds})
                 ? 1
                 : 0;
    } catch (const std::bad_alloc&) {
      return 0;
    }
  }

  const Payload& job_;
  const JobHost* host_;
  abi::Call call_{};
  abi::Iterations iterations_{};
  mutable std::string text_;  // what the library was handed last
};

class FailureFrame {
 public:
  explicit FailureFrame(const Failure& failure) {
    failure_.size = sizeof failure_;
    failure_.error_class = text_of(failure.error_class);
    failure_.message = text_of(failure.message);
    failure_.crashed = failure.crash || !failure.crash_json.empty() ? 1 : 0;  // a timeout ended its worker too
  }
  const abi::Failure* failure() const { return &failure_; }

 private:
  abi::Failure failure_{};
};

Performed failed(std::string error_class, std::string message) {
  Performed performed;
  performed.kind = Performed::Kind::failed;
  performed.failure.error_class = std::move(error_class);
  performed.failure.message = std::move(message);
  return performed;
}

Performed unknown_class(const JobRegistry& registry, const std::string& job_class) {
  std::string message = "no job class \"" + job_class + "\" is loaded; known: ";
  const std::vector<std::string> names = registry.class_names();
  for (std::size_t i = 0; i < names.size(); ++i) message += (i > 0 ? ", " : "") + names[i];
  if (names.empty()) message += "none";
  Performed performed = failed("NameError", std::move(message));
  performed.failure.from_job = false;
  return performed;
}

Performed read_result(const abi::Result& result) {
  switch (result.kind) {
    case abi::result_succeeded:
      return {};
    case abi::result_interrupted:
      return {Performed::Kind::interrupted, {}};
    case abi::result_failed:
      return failed(read_text(result.error_class, "UnknownError"), read_text(result.message, ""));
    default:
      return failed("LibraryError", "the job library returned an unknown result, " + std::to_string(result.kind));
  }
}

// Asks a library for a result, whatever comes out of it.
template <typename Ask>
Performed read_result_of(Ask ask) {
  abi::Result result{};
  result.size = sizeof result;
  result.kind = ~0u;  // a library that leaves it alone has not succeeded
  try {
    ask(result);
  } catch (const std::exception& error) {
    return failed("LibraryError",
                  std::string("an exception left the job library: ") + utf8_prefix(error.what(), longest_text));
  } catch (...) {
    return failed("LibraryError", "an exception left the job library");
  }
  return read_result(result);
}

// For a library to read as long as `performed` stays as it is.
void write_result(const Performed& performed, abi::Result& result) {
  switch (performed.kind) {
    case Performed::Kind::succeeded:
      result.kind = abi::result_succeeded;
      return;
    case Performed::Kind::interrupted:
      result.kind = abi::result_interrupted;
      return;
    case Performed::Kind::failed:
      result.kind = abi::result_failed;
      result.error_class = text_of(performed.failure.error_class);
      result.message = text_of(performed.failure.message);
      return;
  }
}

bool is_same_failure(const Performed& one, const Performed& other) {
  return one.kind == Performed::Kind::failed && other.kind == Performed::Kind::failed &&
         one.failure.error_class == other.failure.error_class &&
         one.failure.message == utf8_prefix(other.failure.message, longest_text);
}

void log_thrown(const char* event, const CallFrame& frame, const abi::Answer& answer) {
  log::error(event, {{"job", frame.job_class()},
                     {"jid", frame.jid()},
                     {"error", read_text(answer.error_class, "UnknownError")},
                     {"message", read_text(answer.message, "")}});
}

abi::Answer no_answer() {
  abi::Answer answer{};
  answer.size = sizeof answer;
  return answer;
}

}  // namespace

Performed perform(const JobRegistry& registry, const Payload& job, std::string_view queue, const JobHost& host) {
  const CallFrame frame(job, queue, &host);
  const auto* registered = registry.find(frame.job_class());
  if (registered == nullptr) return unknown_class(registry, utf8_prefix(frame.job_class(), longest_text));

  if (registry.middleware().empty())
    return read_result_of([&](abi::Result& result) { registered->job_class->perform(frame.call(), &result); });
  Performed unknown;
  const JobBody body = [&](const abi::Call& call, abi::Result& result) {
    const std::string_view job_class(call.job_class.data, call.job_class.size);
    if (const auto* wanted = registry.find(job_class)) return wanted->job_class->perform(&call, &result);
    unknown = unknown_class(registry, utf8_prefix(job_class, longest_text));
    write_result(unknown, result);
  };
  return read_result_of([&](abi::Result& result) { run_in_middleware(registry, *frame.call(), body, result); });
}

Performed perform_in_middleware(const JobRegistry& registry, const Payload& job, std::string_view queue,
                                const JobHost& host, const std::function<Performed(const Payload&)>& body) {
  if (registry.middleware().empty()) return body(job);
  const CallFrame frame(job, queue, &host);
  Performed inside;
  const JobBody run = [&](const abi::Call& call, abi::Result& result) {
    const bool changed = call.payload.data != job.text().data();
    inside = body(changed ? Payload::parse({call.payload.data, call.payload.size}) : job);
    write_result(inside, result);
  };
  const Performed whole =
      read_result_of([&](abi::Result& result) { run_in_middleware(registry, *frame.call(), run, result); });
  return is_same_failure(whole, inside) ? inside : whole;  // which knows more of it than its words
}

HookAnswer ask_retry_in(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure) {
  const CallFrame frame(job, queue, nullptr);
  const auto* registered = registry.find(frame.job_class());
  if (registered == nullptr || registered->job_class->retry_in == nullptr) return {};

  abi::Answer answer = no_answer();
  registered->job_class->retry_in(frame.call(), FailureFrame(failure).failure(), failure_count(job), &answer);
  switch (answer.kind) {
    case abi::answer_delay:
      if (answer.delay_seconds <= 0) return {};
      return {HookAnswer::Kind::delay, std::chrono::seconds(answer.delay_seconds)};
    case abi::answer_discard:
      return {HookAnswer::Kind::discard, {}};
    case abi::answer_kill:
      return {HookAnswer::Kind::kill, {}};
    case abi::answer_threw:
      log_thrown("retry_in_threw", frame, answer);
      return {};
    default:
      return {};
  }
}

bool ask_exhausted(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure) {
  const CallFrame frame(job, queue, nullptr);
  const auto* registered = registry.find(frame.job_class());
  if (registered == nullptr || registered->job_class->exhausted == nullptr) return false;

  abi::Answer answer = no_answer();
  registered->job_class->exhausted(frame.call(), FailureFrame(failure).failure(), &answer);
  if (answer.kind == abi::answer_threw) log_thrown("exhausted_threw", frame, answer);
  return answer.kind == abi::answer_discard;
}

void run_error_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure) {
  const CallFrame frame(job, queue, nullptr);
  const FailureFrame failure_frame(failure);
  for (const JobRegistry::Library* library : registry.libraries_told(frame.job_class())) {
    if ((library->registered & abi::registered_error_handler) != 0)
      library->abi->run_error_handlers(frame.call(), failure_frame.failure());
  }
}

void run_crash_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure,
                        int slot, const std::string& report) {
  const CallFrame frame(job, queue, nullptr);
  const FailureFrame failure_frame(failure);
  abi::Occasion occasion{};
  occasion.kind = abi::event_crash;
  occasion.slot = slot;
  occasion.call = frame.call();
  occasion.failure = failure_frame.failure();
  occasion.report = text_of(report);
  run_event_handlers(registry, occasion);
}

void run_death_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure) {
  const CallFrame frame(job, queue, nullptr);
  const FailureFrame failure_frame(failure);
  for (const JobRegistry::Library* library : registry.libraries_told(frame.job_class()))
    library->abi->run_death_handlers(frame.call(), failure_frame.failure());
}

std::optional<std::chrono::milliseconds> timeout_of(const JobRegistry& registry, const Payload& job,
                                                    std::chrono::milliseconds otherwise) {
  std::chrono::milliseconds timeout = otherwise;
  const auto* registered = registry.find(job.job_class());
  if (registered != nullptr && registered->job_class->timeout_ms > 0)
    timeout = std::chrono::milliseconds(registered->job_class->timeout_ms);
  const auto* program = registry.find_program(job.job_class());
  if (program != nullptr && program->timeout > std::chrono::milliseconds(0)) timeout = program->timeout;
  if (const auto seconds = job.number("timeout"); seconds && *seconds >= 0) {
    constexpr double longest_s = std::chrono::duration<double>(longest_timeout).count();
    timeout =
        std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(std::min(*seconds, longest_s)));
  }
  if (timeout <= std::chrono::milliseconds(0)) return std::nullopt;
  return std::min(timeout, longest_timeout);
}

std::optional<RetryOption> class_retry(const JobRegistry& registry, const Payload& job) {
  const auto* registered = registry.find(job.job_class());
  if (registered == nullptr) return std::nullopt;
  switch (registered->job_class->retry_kind) {
    case abi::retry_no:
      return RetryOption{RetryOption::Kind::no, 0};
    case abi::retry_count:
      return RetryOption{RetryOption::Kind::count, registered->job_class->retry_count};
    default:
      return RetryOption{RetryOption::Kind::yes, 0};
  }
}

}  // namespace brood
