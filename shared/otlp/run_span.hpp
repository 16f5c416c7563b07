#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/config/otlp_settings.hpp"
#include "shared/otlp/trace_context.hpp"

namespace brood {

// Identifies a run.  No two runs agree in all of it, and after a crash the recovery knows it too.  So the recovery
// finds the same ids that the worker gave, and that the job's own pushes carry, without anything being stored.
struct RunKey {
  std::string_view identity;  // of the supervisor
  std::int64_t slot = 0;
  std::int64_t began_ns = 0;  // of the wall clock
  std::string_view jid;
};

// Where a run stands among the spans of others.
struct RunTrace {
  SpanContext own;                      // its flags show whether it is sent
  std::optional<SpanContext> producer;  // the span that pushed the job, if its payload names one that counts
  bool is_child = false;                // of the producer; otherwise it is linked to it
  std::string state;                    // the producer's `tracestate`
};

// `traceparent` and `tracestate` as the payload has them; empty: not at all.  A producer decides for its children
// whether they are sent; otherwise `sample` does.
RunTrace trace_of_run(const OtlpSettings& settings, const RunKey& run, std::string_view traceparent,
                      std::string_view tracestate);

// One run of a job, in the form sent to a collector.
struct RunSpan {
  enum class End : std::uint8_t { well, interrupted, failed, crashed };

  RunTrace trace;
  std::int64_t began_ns = 0, took_ns = 0;  // of the wall clock
  End end = End::well;
  std::string queue, jid, job_class, wrapped;    // wrapped: the class within, as Rails has it; empty: none
  std::int64_t attempt = 1, slot = 0, pid = 0;   // pid 0: not known
  std::int64_t created_ns = 0, enqueued_ns = 0;  // 0: not in the payload
  std::string error_class, message;              // when it has failed or crashed
  std::string signal, top, fingerprint;          // when it has crashed: see CrashReport
};

// The longest record in a pipe with many writers: a pipe takes so much in one piece (PIPE_BUF).  The span's texts are
// cut to fit.
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
