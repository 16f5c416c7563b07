#include "worker/job/span_of_run.hpp"

#include <algorithm>
#include <optional>

namespace brood {
namespace {

std::int64_t ns_of(const std::optional<WallTime>& time) {
  return time ? std::max<std::int64_t>(time->time_since_epoch().count(), 0) : 0;
}

// The number of this attempt, from 1: Sidekiq's retry_count is 0 after the first failure.
std::int64_t attempt_of(const Payload& job) {
  const auto failures = job.integer("retry_count");
  return failures ? std::clamp<std::int64_t>(*failures, -1, INT64_MAX - 2) + 2 : 1;
}

}  // namespace

RunSpan span_of_run(const OtlpSettings& settings, const Payload& job, const std::string& queue, const RunKey& run) {
  RunSpan span;
  const std::optional<std::string> traceparent = job.string("traceparent");
  span.trace =
      trace_of_run(settings, run, traceparent.value_or(""), traceparent ? job.string("tracestate").value_or("") : "");
  if (!span.trace.own.is_sampled()) return span;
  span.began_ns = run.began_ns;
  span.slot = run.slot;
  span.queue = queue;
  span.jid = job.jid();
  span.job_class = job.job_class();
  if (job.counted_class() != job.job_class()) span.wrapped = job.counted_class();
  span.attempt = attempt_of(job);
  span.created_ns = ns_of(job.time("created_at"));
  span.enqueued_ns = ns_of(job.time("enqueued_at"));
  return span;
}

}  // namespace brood
