#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/config/otlp_settings.hpp"
#include "shared/otlp/trace_context.hpp"

namespace brood {

// Identifies a run: no two runs have the same key.  The recovery of a crashed worker knows the key, too.  So it
// computes the same ids as the worker, which the job's own pushes carry, without storing anything.
struct RunKey {
  std::string_view identity;  // of the supervisor
  std::int64_t slot = 0;
  std::int64_t began_ns = 0;  // of the wall clock
  std::string_view jid;
};

// The trace that a run belongs to.
struct RunTrace {
  SpanContext own;                      // the flags show whether the span is sent
  std::optional<SpanContext> producer;  // the span that pushed the job, if its payload names one that counts
  bool is_child = false;                // of the producer; otherwise it is linked to it
  std::string state;                    // the producer's `tracestate`
};

// `traceparent` and `tracestate` are those of the payload; empty: it has none.  A producer decides whether the spans of
// its children are sent; without one, the setting `sample` does.
RunTrace trace_of_run(const OtlpSettings& settings, const RunKey& run, std::string_view traceparent,
                      std::string_view tracestate);

// One run of a job, in the form sent to a collector.
struct RunSpan {
  enum class End : std::uint8_t { well, interrupted, failed, crashed };

  RunTrace trace;
  std::int64_t began_ns = 0, took_ns = 0;  // of the wall clock
  End end = End::well;
  std::string queue, jid, job_class, wrapped;    // wrapped: the job's own class, if Active Job wraps it; else empty
  std::int64_t attempt = 1, slot = 0, pid = 0;   // pid 0: not known
  std::int64_t created_ns = 0, enqueued_ns = 0;  // 0: not in the payload
  std::string error_class, message;              // when it has failed or crashed
  std::string signal, top, fingerprint;          // when it has crashed: see CrashReport
};

// The longest record: a pipe with many writers takes this much in one piece (PIPE_BUF).  The texts of a span are cut to
// fit.
inline constexpr std::size_t longest_record = 4'096;
void append_record(std::string& records, const RunSpan& span);

// Reads records from the bytes of such a pipe, in pieces as they come.  Jobs can write there too: after any other
// bytes it finds the next record.
class SpanRecords {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  std::optional<RunSpan> next();
  std::uint64_t passed_over() const { return passed_over_; }  // bytes of no record

 private:
  std::string bytes_;
  std::size_t at_ = 0;
  std::uint64_t passed_over_ = 0;
};

}  // namespace brood
