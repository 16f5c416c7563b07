#pragma once

#include <brood/api.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

class CommandLine;

// Which jobs are meant: those that meet every condition that is given.  Of an option that is given several times, any
// value will do.
class JobFilter {
 public:
  // The names of its options.
  static const std::vector<std::string_view>& option_names();

  void add_options(CommandLine& line);
  void read();  // after the parse: throws UsageError for what is no duration

  bool is_empty() const;
  // `since` is when it became what it is: died, failed, was enqueued.  A job without such a time meets no condition
  // about its age.
  bool takes(const JobRecord& job, std::optional<Time> since) const;

  std::vector<std::string> classes, queues, errors, tags, jids, matches;

 private:
  std::string older_text_, newer_text_;
  std::optional<std::chrono::milliseconds> older_than_, newer_than_;
  Time now_{};
};

}  // namespace brood
