#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <brood/job.hpp>

// Appends every line of one file to another, and continues with the next line after a stop, a deploy or a crash.  A
// line written just before a crash may be there twice: a job that must do something only once has to check what is
// done.
struct CopyLines {
  std::string from, to;

  static constexpr auto flush_interval = std::chrono::milliseconds(0);  // before each line

  brood::Items<std::string> items(std::optional<std::int64_t> cursor) const;
  void each(const std::string& line, brood::Iteration& job);
  void on_complete(brood::Iteration& job);
};
