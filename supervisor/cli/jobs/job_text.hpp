#pragma once

#include <brood/api.hpp>
#include <string>

#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {

// "3m ago", "in 5m".
std::string when_text(Time time);

// For a table cell: the arguments, or the error; the table makes them printable.
std::string error_text(const JobRecord& job);

// The whole payload in several lines; always printable.
std::string whole_text(const JobRecord& job, const Style& style);
std::string whole_text(const SetEntry& entry, const std::string& what_its_time_is, const Style& style);

// JSON over several lines if it is long.  Keeps the spelling.
std::string pretty_json(std::string_view json, std::size_t indent);

}  // namespace brood
