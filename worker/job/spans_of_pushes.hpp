#pragma once

#include <string_view>

namespace brood {

// While a run is told to a collector, what its code pushes by brood::Client names the run's span, and
// brood::ambient::traceparent() returns it: both are libbrood's, which the job libraries may have brought with them.
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

}  // namespace brood
