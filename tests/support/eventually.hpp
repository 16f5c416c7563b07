#pragma once

#include <chrono>
#include <thread>

namespace brood {

// Asks every few milliseconds until `holds` is true; false when it never was within `time`.
template <typename Predicate>
bool within(std::chrono::milliseconds time, Predicate holds) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  for (;;) {
    if (holds()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
}

// The same for what must come to be true.  `time` is for a machine that has little else to do: a busy one is given
// several times as much, which costs no time if all is well.
template <typename Predicate>
bool eventually(Predicate holds, std::chrono::milliseconds time = std::chrono::seconds(20)) {
  constexpr int slower = 4;
  return within(slower * time, holds);
}

}  // namespace brood
