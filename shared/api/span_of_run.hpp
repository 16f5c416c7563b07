#pragma once

#include <string_view>

namespace brood::ambient {

// The span of the run that this thread performs: traceparent() returns it until somebody sets another one, and
// restore() does not replace it by the one that the payload names.  Empty: none, from now on.
void set_span_of_run(std::string_view traceparent, std::string_view tracestate);

}  // namespace brood::ambient
