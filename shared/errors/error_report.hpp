#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// One failure of a job as it is reported to a program and to error services; or in a storm, a digest of many failures.
struct ErrorReport {
  enum class Becomes { retry, dead, discarded };

  std::string id;  // 32 hex digits; stays when the report is sent again
  double at = 0;   // seconds since the epoch, as all times here
  std::string job_class, jid, queue;
  std::string error_class, message;
  std::vector<std::string> backtrace;  // innermost first
  std::int64_t retry_count = 0;        // of the payload after this failure: 0 after the first
  Becomes becomes = Becomes::retry;
  double retry_at = 0;            // when it is tried again; 0: it is not
  std::string crash;              // the payload's member `crash`, an object; empty: the attempt did not end its worker
  std::string fingerprint;        // of the crash
  std::vector<std::string> tags;  // of the job
  std::string arguments;          // an array; empty: they are left out
  std::string job;                // the whole payload; empty: it is left out
  std::string host, identity;     // of the supervisor
  std::int64_t generation = 0;    // of the worker's configuration; 0: not known
  std::string environment, release;

  // In a digest: how many failures have no reports of their own.  All other members are those of the last of them.
  struct Digest {
    std::uint64_t failures = 0;
    double since = 0, until = 0;
    bool of_several = false;  // it counts failures of several job classes or error classes
  };
  std::optional<Digest> digest;

  std::int64_t attempt() const { return retry_count + 1; }
};

// In characters; the arguments in bytes.
inline constexpr std::size_t longest_report_message = 8'192, most_report_lines = 100, longest_report_word = 1'000,
                             most_report_tags = 32, longest_report_tag = 200, longest_report_arguments = 16'384;

std::string_view to_string(ErrorReport::Becomes becomes);

// One JSON object: class, jid, queue, error_class, error_message, backtrace, retry_count, crash, job, and the other
// members.  Leaves out those that are empty.
std::string report_json(const ErrorReport& report);
// Reads a report, which a job can forge: cuts members that are too long, and moves numbers into their ranges.  Throws
// BadJson for a text that is no such object.
ErrorReport read_error_report(std::string_view json);

// "41 more failures of Resize with std::runtime_error from 1800000000 to 1800000060", for services that show a message.
std::string digest_text(const ErrorReport& report);

// A line of a backtrace, taken apart: "#0 Resize::perform() at resize.cpp:12 (libjobs.so+0x1230)".
struct BacktraceLine {
  std::string function;  // the whole line, if it is another text
  std::string file;      // empty: not known
  std::int64_t line = 0;
  std::string module;
};
BacktraceLine read_backtrace_line(std::string_view text);

}  // namespace brood
