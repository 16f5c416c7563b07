#include "worker/job/hooks.hpp"

#include <brood/abi.hpp>

#include "shared/base/log.hpp"
#include "worker/job/call_frame.hpp"
#include "worker/job/encrypted_job.hpp"
#include "worker/job/library_text.hpp"
#include "worker/job/lifecycle.hpp"

namespace brood {
namespace {

void log_thrown(const char* event, const Payload& job, const abi::Answer& answer) {
  const std::string error_class = read_text(answer.error_class, "UnknownError");
  log::error(event, {{"job", job.code_class()},
                     {"jid", job.jid()},
                     {"error", error_class},
                     {"message", shown_message(job, error_class, read_text(answer.message, ""))}});
}

abi::Answer no_answer() {
  abi::Answer answer{};
  answer.size = sizeof answer;
  return answer;
}

}  // namespace

HookAnswer ask_retry_in(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure) {
  const CallFrame frame(job, queue, nullptr);
  const auto* registered = registry.find(frame.job_class());
  if (registered == nullptr || registered->job_class.retry_in == nullptr) return {};

  abi::Answer answer = no_answer();
  registered->job_class.retry_in(frame.call(), FailureFrame(failure).failure(), failure_count(job), &answer);
  switch (answer.kind) {
    case abi::answer_delay:
      if (answer.delay_seconds <= 0) return {};
      return {HookAnswer::Kind::delay, std::chrono::seconds(answer.delay_seconds)};
    case abi::answer_discard:
      return {HookAnswer::Kind::discard, {}};
    case abi::answer_kill:
      return {HookAnswer::Kind::kill, {}};
    case abi::answer_threw:
      log_thrown("retry_in_threw", job, answer);
      return {};
    default:
      return {};
  }
}

bool ask_exhausted(const JobRegistry& registry, const Payload& job, std::string_view queue, const Failure& failure) {
  const CallFrame frame(job, queue, nullptr);
  const auto* registered = registry.find(frame.job_class());
  if (registered == nullptr || registered->job_class.exhausted == nullptr) return false;

  abi::Answer answer = no_answer();
  registered->job_class.exhausted(frame.call(), FailureFrame(failure).failure(), &answer);
  if (answer.kind == abi::answer_threw) log_thrown("exhausted_threw", job, answer);
  return answer.kind == abi::answer_discard;
}

void run_error_handlers(const JobRegistry& registry, const Payload& job, std::string_view queue,
                        const Failure& failure) {
  const CallFrame frame(job, queue, nullptr);
  const FailureFrame failure_frame(failure);
  for (const JobRegistry::Library* library : registry.libraries_told(frame.job_class())) {
    if ((library->registered & abi::registered_error_handler) != 0)
      library->abi.run_error_handlers(frame.call(), failure_frame.failure());
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
  for (const JobRegistry::Library* library : registry.libraries_told(frame.job_class())) {
    if ((library->registered & abi::registered_death_handler) != 0)
      library->abi.run_death_handlers(frame.call(), failure_frame.failure());
  }
}

}  // namespace brood
