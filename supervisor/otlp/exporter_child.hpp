#pragma once

#include <sys/types.h>

#include <string>

#include "shared/base/unique_fd.hpp"
#include "shared/config/otlp_settings.hpp"
#include "shared/scoreboard/class_usage.hpp"
#include "supervisor/otlp/span_request.hpp"
#include "supervisor/process/service_child.hpp"

namespace brood {

// Runs the exporter of spans as a separate child: the supervisor reads no span and waits for no collector.  While no
// exporter runs, the workers' spans wait in the pipe.
class ExporterChild {
 public:
  ExporterChild(EventLoop& loop, Children& children, SpanSource source, std::string pipe, SpanCounts& counts);

  // Starts, replaces or ends the child as the settings demand.
  void follow(const OtlpSettings& settings);

  // Called when no worker is left: gives the exporter a moment to send the rest.
  void finish(SteadyTime now);
  // Whether the exporter has ended; kills it when it takes too long.
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
