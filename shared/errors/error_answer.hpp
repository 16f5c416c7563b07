#pragma once

#include <chrono>
#include <string>

#include "shared/http/http_call.hpp"

namespace brood {

// How a service or a program has answered a report.
struct ErrorVerdict {
  enum class Kind {
    taken,
    again,    // not taken now: send it again
    refused,  // it would be refused again
  } kind = Kind::again;
  bool has_answered = false;                   // false: the service is away
  bool was_sent = false;                       // whole; if no answer came, the report itself may be the reason
  std::chrono::milliseconds wait_at_least{0};  // before the next report; also after one that was taken
  std::string reason;                          // why it was not taken
};

// Judges an answer by the rules of Sentry (https://develop.sentry.dev/sdk/rate-limiting/), which other services follow
// too.  After 408, 429 and answers from 500 on the report is sent again, not before their Retry-After.  Any answer may
// have X-Sentry-Rate-Limits.  Other answers than success are refusals.
ErrorVerdict judge_error_answer(const HttpEnd& end);

}  // namespace brood
