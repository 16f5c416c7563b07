#pragma once

#include <chrono>

#include "supervisor/process/event_loop.hpp"

namespace brood {

// An event loop that a test runs until a condition holds.
struct TestLoop {
  EventLoop loop;

  // Runs the loop until `holds` is true.  Returns false if it never was.  Gives a busy machine several times as much as
  // `timeout`, as eventually() does.
  template <typename Predicate>
  bool run_until(Predicate holds, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    constexpr int slower = 5;
    return holds_within(holds, slower * timeout);
  }

  // The same, but never longer than `timeout`.
  template <typename Predicate>
  bool holds_within(Predicate holds, std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    Timer again(loop, [] {});
    while (!holds()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      again.start_in(std::chrono::milliseconds(3));
      loop.run_once();
    }
    return true;
  }

  // Runs the loop for that long.  Only for checks that something does not happen.
  void run_for(std::chrono::milliseconds duration) {
    holds_within([] { return false; }, duration);
  }
};

}  // namespace brood
