#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace brood {

// A receiver of reports of failures.  Its number is an index into shared memory.
enum class ErrorSink { program, sentry, honeybadger, webhook };
inline constexpr std::array<std::string_view, 4> error_sink_names{"program", "sentry", "honeybadger", "webhook"};

// How many reports of a sink ended in which way, in shared memory.  A digest counts as one.
struct ErrorSinkCounts {
  std::atomic<std::uint64_t> sent;
  std::atomic<std::uint64_t> refused;     // the service does not take them, or the program failed
  std::atomic<std::uint64_t> overflown;   // the queue was full
  std::atomic<std::uint64_t> away_since;  // seconds since the epoch; 0: it takes reports
  std::atomic<std::uint64_t> in_use;      // not 0: the configuration names it
};

struct ErrorCounts {
  // Bytes in the spool.  Workers add to it, and write nothing beyond its limit.  The reporter corrects it at each look,
  // which may miss reports that are being written at that moment.
  std::atomic<std::uint64_t> waiting_bytes;
  std::atomic<std::uint64_t> written;        // reports that workers and recoveries wrote into the spool
  std::atomic<std::uint64_t> unwritten;      // it was full, or not there
  std::atomic<std::uint64_t> summed;         // failures that digests stand for
  std::atomic<std::uint64_t> summed_unsent;  // of those, the ones of digests that are not sent yet
  // The reporter was killed before it sent their digest, or was killed repeatedly with them; or the file was no report.
  std::atomic<std::uint64_t> forgotten;
  std::array<ErrorSinkCounts, error_sink_names.size()> sinks;
};

}  // namespace brood
