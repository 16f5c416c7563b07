#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <brood/report.hpp>

#include "shared/job/payload.hpp"

namespace brood {

// The report of a job that is kept after its end, since its payload says `keep_result`, a number of seconds.

// For how many seconds; nullopt: none is kept.  A value that is no positive number says nothing.
std::optional<std::int64_t> keeps_report_for(std::optional<std::string_view> keep_result);
// Also a step of a flow, whose result the steps after it read.
bool keeps_report(const Payload& job);

// {"jid","state","result","error_class","error_message","elapsed","ended_at"}: times in seconds, and null for what
// there is not.
std::string report_json(const JobReport& report);
// nullopt: it is no report.  Members that it does not know are passed over.
std::optional<JobReport> read_report(std::string_view json);

}  // namespace brood
