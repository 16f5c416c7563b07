#pragma once

#include <cstdint>

#include <brood/job.hpp>

// Jobs that take their worker with them.

struct Segfault {
  void perform();
};

struct Abort {
  void perform();
};

// A stack that never ends.
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
  int milliseconds = 0;  // and holds it for so long

  static constexpr brood::JobOptions options{.required = 1};
  void perform();
};
