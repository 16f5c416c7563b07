#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "worker/crash/frame.hpp"

namespace brood {

// A crash, as the retry record, the log and the crash book show it.
struct CrashReport {
  Failure failure;                 // with the member `crash`
  std::vector<std::string> stack;  // its backtrace
  std::string top;                 // the innermost of them that is the job's own, so not abort()
  std::string signal;              // "SIGSEGV"; empty: none
  std::string address;             // "0x10"; empty: the signal has none
  bool has_names = false;          // of functions
  std::string fingerprint;         // empty: nothing is known but the cause
};

// Pure.  `frames` are those of the job, with or without names; `core` is where its core file lies.
CrashReport report_crash(const WorkerDeath::Cause& cause, const std::vector<Frame>& frames, std::string_view job_class,
                         const std::optional<std::string>& core, WallTime now);

// Twelve hex digits.  Two crashes have the same when class, kind of error, place and build are the same, whether names
// are known or not.
std::string crash_fingerprint(std::string_view job_class, std::string_view error_class, const CapturedStack& stack);

}  // namespace brood
