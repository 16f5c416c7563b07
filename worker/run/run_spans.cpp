#include "worker/run/run_spans.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "shared/base/log_line.hpp"
#include "worker/job/span_of_run.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr const char* library_of_pushes = "libbrood.so.1";
constexpr const char* name_of_function = "brood_set_span_of_run";  // shared/api/span_of_run.cpp

// The span of a run that took longer is sent at once, so that a later crash does not lose it.
constexpr auto short_run = 1ms;

}  // namespace

void SpansOfPushes::begin(std::string_view traceparent, std::string_view state) {
  if (!looked_) {
    looked_ = true;
    // If no job library has loaded libbrood, no push goes through it.
    if (void* const loaded = dlopen(library_of_pushes, RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL))
      set_ = reinterpret_cast<SetSpan>(dlsym(loaded, name_of_function));
  }
  if (set_ != nullptr) set_(std::string(traceparent).c_str(), std::string(state).c_str());
}

void SpansOfPushes::end() {
  if (set_ != nullptr) set_("", "");
}

RunSpans::RunSpans(const OtlpSettings& settings, std::string identity, int slot, std::string pipe, UsageTable* table,
                   JobHost& host)
    : settings_(settings),
      identity_(std::move(identity)),
      slot_(slot),
      pipe_(std::move(pipe), table == nullptr ? nullptr : &table->spans.unwritten),
      host_(host) {}

RunKey RunSpans::key_of(const Payload& job, WallTime now) const {
  return {.identity = identity_, .slot = slot_, .began_ns = now.time_since_epoch().count(), .jid = job.jid()};
}

void RunSpans::announce(const RunTrace& trace) {
  host_.traceparent = traceparent_text(trace.own);
  log::set_standing_fact("trace_id", std::string_view(host_.traceparent).substr(3, 32));
  host_.tracestate = trace.is_child ? trace.state : "";
  pushes_.begin(host_.traceparent, host_.tracestate);
}

void RunSpans::begin(const JobRun& run) {
  span_ = span_of_run(settings_, run.job, run.queue, key_of(run.job, run.started_at));
  announce(span_.trace);
}

void RunSpans::begin_apart(const Payload& job, WallTime now) {
  announce(span_of_run(settings_, job, "", key_of(job, now)).trace);
}

void RunSpans::settled(const JobRun& run) {
  pushes_.end();
  if (run.only_expired() || !span_.trace.own.is_sampled()) return;
  const Performed& performed = run.performed;
  const std::chrono::nanoseconds took = run.ended - run.started;
  span_.took_ns = std::max<std::int64_t>(took.count(), 0);
  span_.pid = getpid();
  switch (performed.kind) {
    case Performed::Kind::succeeded:
      span_.end = RunSpan::End::well;
      break;
    case Performed::Kind::interrupted:
    case Performed::Kind::over_limit:
      span_.end = RunSpan::End::interrupted;
      break;
    case Performed::Kind::failed:
      span_.end = RunSpan::End::failed;
      span_.error_class = performed.failure.error_class;
      span_.message = performed.failure.message;
      break;
  }
  const std::size_t before = records_.size();
  append_record(records_, span_);
  if (records_.size() > longest_record) {
    std::string last = records_.substr(before);
    records_.resize(before);
    send();
    records_ = std::move(last);
  }
  ++waiting_;
  if (took > short_run) send();
}

void RunSpans::send() {
  if (waiting_ == 0) return;
  pipe_.write(records_, std::exchange(waiting_, 0));
  records_.clear();
}

}  // namespace brood
