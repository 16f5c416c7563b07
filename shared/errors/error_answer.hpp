#pragma once

#include <chrono>
#include <string>

#include "shared/http/http_call.hpp"

namespace brood {

// What a service or a program says to a report.
struct ErrorVerdict {
  enum class Kind {
    taken,
    again,    // it may be sent again
    refused,  // it would be refused again
  } kind = Kind::again;
  bool has_answered = false;                   // else it is away
  bool was_sent = false;                       // without an answer the report may be the reason for that
  std::chrono::milliseconds wait_at_least{0};  // before the next report, which may follow one that was taken
  std::string reason;                          // why it was not taken
};

// By the rules of Sentry (https://develop.sentry.dev/sdk/rate-limiting/), which others follow too: 429 with
// Retry-After, and X-Sentry-Rate-Limits with any answer.  Other answers from 500 on may pass, as 408; all else is
// refused.
ErrorVerdict judge_error_answer(const HttpEnd& end);

}  // namespace brood
