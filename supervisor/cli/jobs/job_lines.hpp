#pragma once

#include <brood/push.hpp>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <istream>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "supervisor/cli/jobs/class_checks.hpp"

namespace brood {

struct LineOptions {
  std::optional<std::chrono::milliseconds> spread = {};  // each job gets a random time within this span from now
  std::string shard_by = {};                             // as in Push
  bool unchecked = false;                                // also pushes members that are not known
  ClassChecks* classes = nullptr;                        // checks the jobs; null: no check
};

// The jobs of a file ("-": standard input), each line a JSON object with class and args; blank lines are skipped.
class JobLines {
 public:
  // Throws std::invalid_argument if the file cannot be read.
  JobLines(std::string path, LineOptions options);

  // The next job, checked; nullopt at the end.  Throws std::invalid_argument if the line is no job (its sentence does
  // not name the line), PushRefused if the class of the job would not take it, and std::runtime_error if reading fails.
  std::optional<Push> next();

  std::string place() const;  // of the last line read: "jobs.ndjson:7"
  std::size_t bytes_of_line() const { return line_.size(); }
  std::size_t bytes_read() const { return bytes_; }
  std::size_t total_bytes() const;  // 0 if unknown
  bool can_be_read_twice() const { return total_bytes() > 0; }

 private:
  std::string path_;
  LineOptions options_;
  std::ifstream file_;
  std::istream& lines_;
  std::string line_;
  std::size_t number_ = 0, bytes_ = 0;
};

// Shows how many jobs are pushed, and which part of the file that is, in one line on standard error.  Rewrites the line
// in place and removes it at the end.  Shows nothing if standard error is no terminal.
class PushProgress {
 public:
  explicit PushProgress(const JobLines& lines);
  ~PushProgress();
  PushProgress(const PushProgress&) = delete;
  PushProgress& operator=(const PushProgress&) = delete;

  void show(std::size_t jobs);

 private:
  const JobLines& lines_;
  std::size_t total_bytes_;
  bool shown_, drawn_ = false;
  SteadyTime last_{};
};

}  // namespace brood
