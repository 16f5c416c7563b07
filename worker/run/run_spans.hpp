#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/config/otlp_settings.hpp"
#include "shared/job/payload.hpp"
#include "shared/otlp/run_span.hpp"
#include "shared/otlp/span_pipe.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "worker/job/job_host.hpp"
#include "worker/run/job_run.hpp"

namespace brood {

// While a run is traced, jobs that its code pushes by brood::Client name the run's span, and
// brood::ambient::traceparent() returns it.  Both are in libbrood, which the job libraries may have loaded.
class SpansOfPushes {
 public:
  // `state`: the trace's `tracestate`; empty: none.
  void begin(std::string_view traceparent, std::string_view state);
  void end();

 private:
  using SetSpan = void (*)(const char* traceparent, const char* tracestate);

  bool looked_ = false;
  SetSpan set_ = nullptr;
};

// Sends this worker's runs to the exporter, one after the other.  If the worker does not survive a run, the recovery
// sends it, by the same ids.
class RunSpans : public Stage {
 public:
  // `host` gets the name of each run's span.
  RunSpans(const OtlpSettings& settings, std::string identity, int slot, std::string pipe, UsageTable* table,
           JobHost& host);

  // A run begins: from now on lines of the log have its trace's id, and its pushes name its span.
  void begin(const JobRun& run) override;
  // The same in the process of an isolated job, whose span the worker sends.
  void begin_apart(const Payload& job, WallTime now);
  // The run is over, or was none since its job has expired.  The span of a short run waits for others.
  void settled(const JobRun& run) override;

  // Sends the waiting spans, without blocking.
  void send();

 private:
  RunKey key_of(const Payload& job, WallTime now) const;
  void announce(const RunTrace& trace);

  const OtlpSettings& settings_;
  const std::string identity_;
  const int slot_;
  SpanPipe pipe_;
  JobHost& host_;
  SpansOfPushes pushes_;
  RunSpan span_;         // of the run under way
  std::string records_;  // that wait
  std::uint64_t waiting_ = 0;
};

}  // namespace brood
