#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "shared/http/http_answer.hpp"

namespace brood {

// The collector's answer to spans that were sent.
struct ExportVerdict {
  enum class Kind {
    taken,    // all but the refused ones
    again,    // they are to be sent again
    refused,  // and they would be refused again
  } kind = Kind::again;
  std::uint64_t refused = 0;                   // of those that were taken
  std::chrono::milliseconds wait_at_least{0};  // the pause that the collector has asked for
  std::string reason;                          // why not all were taken; empty if they were
};

// By the rules of OTLP (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response): 429, 502, 503 and 504 are
// temporary.
ExportVerdict judge_answer(const HttpAnswer& answer);

}  // namespace brood
