#include "worker/job/perform.hpp"

#include <algorithm>
#include <exception>

#include <brood/abi.hpp>
#include "shared/json/json.hpp"
#include "shared/store/deferral.hpp"
#include "worker/job/call_frame.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/library_text.hpp"
#include "worker/job/middleware.hpp"
#include "worker/job/program_arguments.hpp"

namespace brood {
namespace {

// A job over a limit waits this much longer each time, as in Sidekiq Enterprise.
constexpr std::chrono::seconds deferral_step{300};

Performed failed(std::string error_class, std::string message) {
  Performed performed;
  performed.kind = Performed::Kind::failed;
  performed.failure.error_class = std::move(error_class);
  performed.failure.message = std::move(message);
  return performed;
}

Performed unknown_class(const JobRegistry& registry, const Payload& job, const std::string& job_class) {
  std::string message = registry.describe_unknown(job_class);
  if (job.is_active_job())
    message += "; it is an Active Job: if its class is Ruby's, let a Ruby Sidekiq serve its queue";
  Performed performed = failed("NameError", std::move(message));
  performed.failure.from_job = false;
  performed.failure.misrouted = true;
  return performed;
}

Performed read_result(const abi::Result& result) {
  switch (result.kind) {
    case abi::result_succeeded:
      return {};
    case abi::result_interrupted: {
      Performed performed;
      performed.kind = Performed::Kind::interrupted;
      if (abi::has(result, &abi::Result::delay_ms))
        performed.delay =
            std::clamp(std::chrono::milliseconds(result.delay_ms), std::chrono::milliseconds(0), longest_job_delay);
      return performed;
    }
    case abi::result_failed: {
      Performed performed = failed(read_text(result.error_class, "UnknownError"), read_text(result.message, ""));
      if (abi::has(result, &abi::Result::thrown)) performed.thrown = result.thrown;
      if (abi::has(result, &abi::Result::deferral_ms)) {
        performed.most_deferrals = std::clamp<std::int64_t>(result.most_deferrals, 0, most_deferrals);
        performed.defer_for =
            std::clamp(std::chrono::milliseconds(result.deferral_ms), std::chrono::milliseconds(-1), longest_job_delay);
      }
      return performed;
    }
    default:
      return failed("LibraryError", "the job library returned an unknown result, " + std::to_string(result.kind));
  }
}

// Asks a library for a result and turns it, or an exception, into a Performed.
template <typename Ask>
Performed read_result_of(Ask ask) {
  abi::Result result{};
  result.size = sizeof result;
  result.kind = ~0u;  // no success, in case the library writes nothing
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

// Writes a Performed in the form in which a library reads it; valid until `performed` changes.
void write_result(const Performed& performed, abi::Result& result) {
  switch (performed.kind) {
    case Performed::Kind::succeeded:
      result.kind = abi::result_succeeded;
      return;
    case Performed::Kind::interrupted:
      result.kind = abi::result_interrupted;
      if (abi::has(result, &abi::Result::delay_ms)) result.delay_ms = performed.delay.count();
      return;
    case Performed::Kind::failed:
    case Performed::Kind::over_limit:
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

// Puts back the parts of a result that were lost on its way: the middleware of another library throws the failure of
// the job again, and with older headers it drops the delay.
Performed with_origin(Performed whole, const Performed& inside) {
  if (is_same_failure(whole, inside)) {
    whole.thrown = inside.thrown;
    whole.most_deferrals = inside.most_deferrals;
    whole.defer_for = inside.defer_for;
  }
  if (whole.kind == inside.kind && whole.delay == std::chrono::milliseconds(0)) whole.delay = inside.delay;
  return whole;
}

}  // namespace

Performed perform(const JobRegistry& registry, const Payload& job, std::string_view queue, const JobHost& host) {
  const CallFrame frame(job, queue, &host);
  const auto* registered = registry.find(frame.job_class());
  if (registered == nullptr) return unknown_class(registry, job, utf8_prefix(frame.job_class(), longest_text));
  if (frame.unfit()) return failed("ArgumentError", frame.job_class() + ": " + *frame.unfit());

  if (registry.middleware().empty())
    return read_result_of([&](abi::Result& result) { registered->job_class.perform(frame.call(), &result); });
  Performed unknown, inside;
  const JobBody body = [&](const abi::Call& call, abi::Result& result) {
    const std::string_view job_class(call.job_class.data, call.job_class.size);
    if (const auto* wanted = registry.find(job_class)) {
      abi::Call in_clear = call;
      // Middleware with older headers that has changed the payload passes on the arguments of that payload.
      const bool hands_on_stored = std::string_view(call.args.data, call.args.size) == job.args();
      if (hands_on_stored) in_clear.args = frame.call()->args;
      wanted->job_class.perform(&in_clear, &result);
      inside = result.kind == abi::result_succeeded ? Performed{} : read_result(result);
      return;
    }
    unknown = unknown_class(registry, job, utf8_prefix(job_class, longest_text));
    write_result(unknown, result);
  };
  return with_origin(
      read_result_of([&](abi::Result& result) { run_in_middleware(registry, *frame.call(), body, result); }), inside);
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
  return is_same_failure(whole, inside) ? inside : whole;  // `inside` has more of the failure than its texts
}

std::optional<Failure> tell_expired(const JobRegistry& registry, const Payload& job, std::string_view queue) {
  const CallFrame frame(job, queue, nullptr);
  const auto* registered = registry.find(frame.job_class());
  if (registered == nullptr || registered->job_class.on_expired == nullptr) return std::nullopt;
  abi::Answer answer{};
  answer.size = sizeof answer;
  registered->job_class.on_expired(frame.call(), &answer);
  if (answer.kind != abi::answer_threw) return std::nullopt;
  return failed(read_text(answer.error_class, "UnknownError"), read_text(answer.message, "")).failure;
}

std::optional<Failure> why_not_performable(const JobRegistry& registry, const Payload& job) {
  if (const CommandSettings* program = registry.find_program(job.code_class())) {
    try {
      program_words(program->run, plain_arguments(job));
      return std::nullopt;
    } catch (const BadArgument& error) {
      return failed("ArgumentError", job.code_class() + ": " + error.what()).failure;
    }
  }
  const auto* registered = registry.find(job.code_class());
  if (registered == nullptr) return unknown_class(registry, job, utf8_prefix(job.code_class(), longest_text)).failure;
  if (registered->job_class.check_arguments == nullptr) return std::nullopt;
  const CallFrame frame(job, "", nullptr);
  if (frame.unfit()) return failed("ArgumentError", frame.job_class() + ": " + *frame.unfit()).failure;
  const Performed checked =
      read_result_of([&](abi::Result& result) { registered->job_class.check_arguments(frame.call(), &result); });
  if (checked.kind != Performed::Kind::failed) return std::nullopt;
  return checked.failure;
}

Performed defer_over_limit(Performed performed, const Payload& job, double jitter) {
  const std::int64_t times = times_over_limit(job);
  if (performed.kind != Performed::Kind::failed || times >= performed.most_deferrals) return performed;
  performed.kind = Performed::Kind::over_limit;
  performed.delay = performed.defer_for;
  if (performed.delay.count() >= 0) return performed;
  const auto within_a_step = std::chrono::duration<double>(deferral_step) * jitter;
  performed.delay = deferral_step * (times + 1) + std::chrono::seconds(1) +
                    std::chrono::floor<std::chrono::milliseconds>(within_a_step);
  return performed;
}

std::optional<std::chrono::milliseconds> timeout_of(const JobRegistry& registry, const Payload& job,
                                                    std::chrono::milliseconds otherwise) {
  std::chrono::milliseconds timeout = otherwise;
  const auto* registered = registry.find(job.code_class());
  if (registered != nullptr && registered->job_class.timeout_ms > 0)
    timeout = std::chrono::milliseconds(registered->job_class.timeout_ms);
  const auto* program = registry.find_program(job.code_class());
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
  const auto* registered = registry.find(job.code_class());
  if (registered == nullptr) return std::nullopt;
  switch (registered->job_class.retry_kind) {
    case abi::retry_no:
      return RetryOption{RetryOption::Kind::no, 0};
    case abi::retry_count:
      return RetryOption{RetryOption::Kind::count, registered->job_class.retry_count};
    default:
      return RetryOption{RetryOption::Kind::yes, 0};
  }
}

}  // namespace brood
