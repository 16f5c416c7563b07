#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <brood/job.hpp>

// Appends every line of one file to another, and goes on with the next one after a stop, a deploy or a crash.  A line
// that was written just before a crash is there twice: what must not be has to be told by looking at what is there.
struct CopyLines {
  std::string from, to;

  static constexpr auto flush_interval = std::chrono::milliseconds(0);  // before each line

  brood::Items<std::string> items(std::optional<std::int64_t> cursor) const;
  void each(const std::string& line, brood::Iteration& job);
  void on_complete(brood::Iteration& job);
};
