#pragma once

#include <brood/api.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

class CommandLine;

// Chooses the jobs that meet every given condition.  If an option is given several times, one of its values must match.
class JobFilter {
 public:
  // The names of its options.
  static const std::vector<std::string_view>& option_names();

  void add_options(CommandLine& line);
  void read();  // call it after the parse; throws UsageError for an invalid duration

  bool is_empty() const;
  // `since` is when the job died, failed or was enqueued, depending on its list.  A job without it meets no condition
  // on age.
  bool takes(const JobRecord& job, std::optional<Time> since) const;

  std::vector<std::string> classes, queues, errors, tags, jids, matches;

 private:
  std::string older_text_, newer_text_;
  std::optional<std::chrono::milliseconds> older_than_, newer_than_;
  Time now_{};
};

}  // namespace brood
