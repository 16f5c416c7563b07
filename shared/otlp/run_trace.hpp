#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/config/otlp_settings.hpp"
#include "shared/otlp/trace_context.hpp"

namespace brood {

// Which run this is.  No two have all of it in common, and after a crash the recovery knows it too: so it finds the
// same ids that the worker gave, and that the job's own pushes carry, without a byte kept anywhere.
struct RunKey {
  std::string_view identity;  // of the supervisor
  std::int64_t slot = 0;
  std::int64_t began_ns = 0;  // of the wall clock
  std::string_view jid;
};

// The place of a run in a trace.
struct RunTrace {
  SpanContext own;                      // its flags: whether it is exported
  std::optional<SpanContext> producer;  // the span that pushed the job, if its payload names one that counts
  bool is_child = false;                // of the producer; otherwise it is linked to it
  std::string state;                    // the producer's `tracestate`
};

// `traceparent` and `tracestate` are those of the payload; empty: none.  A producer decides for its children whether
// they are exported; without a producer `sample` decides.
RunTrace trace_of_run(const OtlpSettings& settings, const RunKey& run, std::string_view traceparent,
                      std::string_view tracestate);

}  // namespace brood
