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
  std::vector<std::string> stack;  // the backtrace, innermost first
  std::string top;                 // the innermost frame of the job's own code; so not that of abort()
  std::string signal;              // "SIGSEGV"; empty: no signal ended the process
  std::string address;             // "0x10"; empty: the signal has none
  bool has_names = false;          // at least one frame has the name of its function
  std::string fingerprint;         // empty: only the cause is known
};

// Makes the report.  `frames` are those of the job, with or without names; `core` is the path of its core file.  Pure.
CrashReport report_crash(const WorkerDeath::Cause& cause, const std::vector<Frame>& frames, std::string_view job_class,
                         const std::optional<std::string>& core, WallTime now);

// Returns twelve hex digits.  Two crashes have the same fingerprint if class, kind of error, place and build are the
// same, whether the names of their functions are known or not.
std::string crash_fingerprint(std::string_view job_class, std::string_view error_class, const CapturedStack& stack);

}  // namespace brood
