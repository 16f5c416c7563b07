#pragma once

#include <cstdint>

#include <brood/job.hpp>

// Jobs that end their worker.

struct Segfault {
  void perform();
};

struct Abort {
  void perform();
};

// Overflows its stack.
struct DeepRecursion {
  void perform();
};

struct Exit {
  int code = 0;

  void perform();
};

// Takes memory until it is refused.
struct Gobble {
  std::int64_t megabytes = 0;
  int milliseconds = 0;  // for how long it holds the memory

  static constexpr brood::JobOptions options{.required = 1};
  void perform();
};
