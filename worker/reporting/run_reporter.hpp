#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "shared/config/config.hpp"
#include "shared/errors/error_services.hpp"
#include "shared/scoreboard/error_counts.hpp"
#include "worker/reporting/report_attempt.hpp"

namespace brood {

class TlsCertificates;

// The values that the reporter of one supervisor works with.
struct Reporter {
  const Config& config;
  std::string_view version;
  std::string spool;
  ErrorCounts& counts;  // in shared memory
  int lifeline;         // a pipe; at its end (EOF) the reporter sends what it has, for at most two seconds
};

// The body of a child: hands the reports of the spool to the program and the services of [on_error], until its lifeline
// ends.  The file of a report is removed once each of them has taken or refused the report.  Returns the exit status.
int run_reporter(const Reporter& reporter);

// Begins an attempt to hand a report to a sink.  Throws std::exception.
std::unique_ptr<ReportAttempt> begin_report(ErrorSink sink, const Config& config, const ErrorServices& services,
                                            const TlsCertificates* certificates, std::string_view version,
                                            const ErrorReport& report, SteadyTime now);

}  // namespace brood
