#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood::testing {

// One line of a log in text format.
struct LogLine {
  std::map<std::string, std::string, std::less<>> facts;  // pid and event among them

  std::string fact(std::string_view name) const;  // empty: the line has no such fact
};

// Returns the log lines of one job, in order.  Pure.
std::vector<LogLine> lines_of_job(std::string_view log, std::string_view jid);

// Returns the last lines of a log, for an error message.
std::string last_lines(std::string_view log);

}  // namespace brood::testing
