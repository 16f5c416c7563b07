#pragma once

#include <brood/job.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

// How many words a line has.  A test calls it without any job.
std::size_t words_in(std::string_view line);

// Counts the words of a file: brood enqueue CountWords /etc/services
struct CountWords {
  std::string path;  // the fields, in order, are the job's arguments

  static constexpr brood::JobOptions options{.queue = "default", .retry = 5, .timeout = std::chrono::minutes(1)};

  void perform(brood::Context& job);
};
