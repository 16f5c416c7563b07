#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <brood/report.hpp>

#include "shared/job/payload.hpp"

namespace brood {

// The report of a job with `keep_result` (a number of seconds), kept after its end.

// For how many seconds a report is kept; nullopt if none is.  A value that is no positive number does not count.
std::optional<std::int64_t> keeps_report_for(std::optional<std::string_view> keep_result);
// Whether the job keeps a report.  Also true for a step of a flow: later steps read its result.
bool keeps_report(const Payload& job);

// {"jid","state","result","error_class","error_message","elapsed","ended_at"}: times in seconds, and null for members
// that are not known.
std::string report_json(const JobReport& report);
// Returns nullopt if it is no report.  Ignores unknown members.
std::optional<JobReport> read_report(std::string_view json);

}  // namespace brood
