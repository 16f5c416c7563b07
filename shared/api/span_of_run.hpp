#pragma once

#include <string_view>

namespace brood::ambient {

// Sets the span of this thread's run.  traceparent() returns it until another one is set, and restore() does not
// replace it by the one in the payload.  Empty: removes it.
void set_span_of_run(std::string_view traceparent, std::string_view tracestate);

}  // namespace brood::ambient
