#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/redis/tls_settings.hpp"

namespace brood {

// How the trace of a run relates to that of the code that pushed its job.  Ruby's instrumentation has the same three
// choices.
enum class TracePropagation {
  link,   // a trace of its own, with a link to the span that pushed it
  child,  // the same trace, below that span
  none,   // a trace of its own
};

// Where the spans of jobs go ([otlp]).
struct OtlpSettings {
  std::string endpoint;            // as HttpEndpoint reads it; empty: no spans are sent
  std::optional<TlsSettings> tls;  // to an https:// endpoint; none: the system's authorities are trusted
  std::string headers_file;        // of further lines of each request; or "credential:NAME": see password_files.hpp
  std::string service_name;
  std::vector<std::pair<std::string, std::string>> resource;  // further attributes of the resource
  TracePropagation propagation = TracePropagation::link;
  double sample = 1;  // the share of runs in traces of their own that are sent

  bool operator==(const OtlpSettings&) const = default;
};

}  // namespace brood
