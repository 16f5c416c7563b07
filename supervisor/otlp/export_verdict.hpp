#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "supervisor/otlp/http_answer.hpp"

namespace brood {

// How the collector answered spans that were sent.
struct ExportVerdict {
  enum class Kind {
    taken,    // all but those that it has refused
    again,    // they are to be sent once more
    refused,  // and would be the next time
  } kind = Kind::again;
  std::uint64_t refused = 0;                   // of those that were taken
  std::chrono::milliseconds wait_at_least{0};  // before they are sent again: what the collector has asked for
  std::string reason;                          // why not all were taken; empty: they were
};

// By the rules of OTLP (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response): 429, 502, 503 and 504 pass.
ExportVerdict judge_answer(const HttpAnswer& answer);

// How long after so many failures in a row; `chance` is any number from 0 to 1.
std::chrono::milliseconds backoff(int failures, double chance);

}  // namespace brood
