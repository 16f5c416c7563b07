#pragma once

#include <brood/job.hpp>

// Jobs that take time, and how they react to a worker that must stop.

// Sleeps and never looks.
struct Sleep {
  int milliseconds = 0;

  void perform();
};

// Looks at stopping() every few milliseconds, and asks to be requeued when it is true.
struct PoliteLoop {
  int milliseconds = 0;

  void perform(brood::Context& job);
};

// Never looks: a stop has to wait for it, or kill it.
struct Stubborn {
  int milliseconds = 0;

  static constexpr brood::JobOptions options{.timeout = std::chrono::milliseconds(500)};
  void perform();
};
