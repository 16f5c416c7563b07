#pragma once

#include <sys/types.h>

#include <string>

#include "shared/base/unique_fd.hpp"
#include "shared/config/otlp_settings.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "supervisor/otlp/span_request.hpp"
#include "supervisor/process/service_child.hpp"

namespace brood {

// The exporter of spans, as a child of its own: the supervisor reads no span and waits for no collector.  While none
// runs, what workers tell waits in the pipe.
class ExporterChild {
 public:
  ExporterChild(EventLoop& loop, Children& children, SpanSource source, std::string pipe, SpanCounts& counts);

  // Starts, replaces or ends it, as the settings want it.
  void follow(const OtlpSettings& settings);

  // No worker is left: it sends what it has, for a moment.
  void finish(SteadyTime now);
  // Once it has, and its pipe is gone; one that takes too long is killed.
  bool has_finished(SteadyTime now);

  pid_t pid() const { return child_.pid(); }  // 0: it does not run

 private:
  const SpanSource source_;
  const std::string pipe_;
  SpanCounts& counts_;
  OtlpSettings settings_;
  ServiceChild child_;
  UniqueFd pipe_end_;  // keeps the content of the pipe while no exporter reads it
  bool finishes_ = false;
  SteadyTime deadline_{};
  Timer wake_;
};

}  // namespace brood
