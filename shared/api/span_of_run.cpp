// A worker calls this function by its name, in the libbrood that its job libraries have loaded:
// worker/run/run_spans.cpp.

#include <brood/ambient.hpp>

#include "shared/api/span_of_run.hpp"

extern "C" BROOD_API void brood_set_span_of_run(const char* traceparent, const char* tracestate) noexcept try {
  brood::ambient::set_span_of_run(traceparent, tracestate);
} catch (...) {  // no memory: its pushes name no span
}
